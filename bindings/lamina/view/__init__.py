"""The viewer: a page in the browser that shows a vault and changes nothing.

``lamina view`` serves it on loopback; it is built on Starlette and uvicorn, the extra ``lamina[view]``.
"""
