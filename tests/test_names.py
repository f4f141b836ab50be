"""What a name of the package stands for."""

import importlib
import pkgutil

import pytest

import priste


def packages() -> list[str]:
    found = pkgutil.walk_packages(priste.__path__, "priste.")
    return ["priste", *(module.name for module in found if module.ispkg)]


@pytest.mark.parametrize("name", packages())
def test_no_name_of_a_package_hides_one_of_its_modules(name: str) -> None:
    package = importlib.import_module(name)
    for module in pkgutil.iter_modules(package.__path__, f"{name}."):
        if module.name.endswith("__main__"):
            continue
        loaded = importlib.import_module(module.name)
        assert getattr(package, module.name.rpartition(".")[2]) is loaded, module.name
