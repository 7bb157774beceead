"""``lamina serve-cluster``: vaults served by a Ray cluster."""

from __future__ import annotations

import os
from collections.abc import Sequence

import click

from lamina.cli.command import Call, command, number_option, quiet_libraries, resources_option
from lamina.cli.terminal import printable


@command(
    "serve-cluster",
    "lamina serve-cluster s3://my-bucket/team",
    "lamina serve-cluster team=s3://my-bucket/team notes=/mnt/notes --ray 10.0.0.5:6379 --replicas 4 --host 0.0.0.0",
    "lamina serve-cluster s3://my-bucket/huge --shard-replicas 8 --ray 10.0.0.5:6379",
    "lamina serve-cluster --stop",
)
@click.argument("vaults", nargs=-1, metavar="[NAME=]VAULT...")
@click.option(
    "--ray", default="auto", show_default=True, metavar="ADDRESS", help="Running Ray cluster: host:port, or auto."
)
@number_option("--replicas", 1, "Processes that answer.", click.IntRange(1))
@click.option(
    "--shard-replicas", type=click.IntRange(0), default=0, metavar="N",
    help="Processes that hold the shards of vaults, so that the replicas need not. [default: each replica holds whole vaults]",
)  # fmt: skip
@click.option(
    "--timeout", "timeout_s", type=click.FloatRange(0.1), default=30.0, show_default=True, metavar="S",
    help="Seconds after which a call is given up.",
)  # fmt: skip
@number_option("--waiting", 64, "Calls that may wait; more are told to try again.", click.IntRange(1))
@resources_option("each replica")
@click.option("--host", default="127.0.0.1", show_default=True, help="Address that every node listens on.")
@number_option("--port", 8000, "Port there.", click.IntRange(1, 65_535))
@click.option("--stop", is_flag=True, help="Stop serving instead.")
def serve_cluster(
    call: Call, vaults: Sequence[str], ray: str, replicas: int, shard_replicas: int, timeout_s: float, waiting: int,
    resources: dict[str, float], host: str, port: int, stop: bool,
) -> None:  # fmt: skip
    """Serve vaults to readers from a running Ray cluster, until --stop.

    A vault has to be where every node finds it: on object storage, or on a shared folder. Readers open the printed addresses
    as vaults, with the token in $LAMINA_SERVE_TOKEN; where it is not set, one is made and printed. What was served
    before is replaced.
    """
    if stop == bool(vaults):
        raise click.UsageError("give the vaults to serve, or --stop")
    from lamina.loopback import make_token
    from lamina.serving import replicas as serving
    from lamina.serving.client import TOKEN_VARIABLE

    with quiet_libraries():
        if stop:
            serving.stop(ray)
        else:
            given = os.environ.get(TOKEN_VARIABLE)
            token = given or make_token()
            named = serving.name_vaults(vaults or ())
            addresses = serving.start(
                ray, named, token=token, replicas=replicas, shard_replicas=shard_replicas, timeout_s=timeout_s,
                waiting=waiting, resources=resources,
                host=host, port=port,
            )  # fmt: skip
    if stop:
        call.answer({"stopped": True}, lambda: ["Stopped serving"])
        return
    document = {"addresses": addresses, "replicas": replicas, **({} if given else {"token": token})}
    lines = [f"Serving {printable(address)}" for address in addresses]
    if not given:
        lines.append(f"export {TOKEN_VARIABLE}={token}   # whoever has it reads all of them")
    call.answer(document, lambda: lines)
