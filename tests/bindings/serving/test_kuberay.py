"""The manifest for Kubernetes in the documents: what KubeRay and Ray Serve read of it is there and right."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
import yaml

from lamina.serving.client import TOKEN_VARIABLE

MANIFEST = Path(__file__).parents[3] / "docs" / "how-to" / "kuberay.yaml"


def manifest() -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load(MANIFEST.read_text(encoding="utf-8"))
    return found


def test_every_container_has_token_cache_and_bounds() -> None:
    found = manifest()
    assert (found["apiVersion"], found["kind"]) == ("ray.io/v1", "RayService")
    cluster = found["spec"]["rayClusterConfig"]
    groups = [cluster["headGroupSpec"], *cluster["workerGroupSpecs"]]
    for group in groups:
        (container,) = group["template"]["spec"]["containers"]
        named = {each["name"]: each for each in container["env"]}
        assert named[TOKEN_VARIABLE]["valueFrom"]["secretKeyRef"] == {"name": "lamina", "key": "token"}
        assert "value" not in named["AWS_SECRET_ACCESS_KEY"]
        assert container["resources"]["limits"] == container["resources"]["requests"]
        assert all(isinstance(value, str) for value in group["rayStartParams"].values())
    cores = sum(
        each["replicas"] * int(each["template"]["spec"]["containers"][0]["resources"]["limits"]["cpu"])
        for each in groups[1:]
    )
    assert cores >= yaml.safe_load(found["spec"]["serveConfigV2"])["applications"][0]["args"]["replicas"]


@pytest.mark.filterwarnings("ignore")  # Ray's own, at import
def test_serve_takes_its_configuration() -> None:
    schema = pytest.importorskip("ray.serve.schema", reason="needs lamina[cluster]")
    api = pytest.importorskip("ray.serve._private.api")
    found = yaml.safe_load(manifest()["spec"]["serveConfigV2"])
    config = schema.ServeDeploySchema.parse_obj(found)
    (application,) = config.applications
    module, _, name = application.import_path.partition(":")
    built = api.call_user_app_builder_with_args_if_necessary(getattr(import_module(module), name), application.args)
    assert built._bound_deployment.name == "vaults"
    assert built._bound_deployment.init_args[0] == application.args["vaults"]
