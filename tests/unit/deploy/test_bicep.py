import re
from dataclasses import fields
from pathlib import Path

import pytest

from hive_mind.bus.servicebus.account import TARGET, subscription_of, target_of_all
from hive_mind.control.platforms import containerapps, in_containers
from tests.unit.deploy.bicep import AZURE, FILES, faults, fields_of_type, given_to, modules, parameters, properties, resources

MAIN, APP = AZURE / "main.bicep", AZURE / "app.bicep"
# Send, receive, read one secret, pull an image. Nobody owns, manages or contributes.
LEAST = {
    "acrPull": "7f951dda-4ed3-4680-a7ca-43fe172d538d",
    "eventHubsReceiver": "a638d3c7-ab3a-418d-83e6-5f17a39d4fde",
    "eventHubsSender": "2b629674-e913-4c01-ae53-ef4638d8f975",
    "secretsUser": "4633458b-17de-408a-b874-0445c86b69e6",
    "serviceBusReceiver": "4f6d3b9b-027b-4f4c-9142-0e5a2a2247e0",
    "serviceBusSender": "69a216fc-b8fb-44d8-bc22-1f3c2cd27a39",
}


def code(path: Path) -> str:
    """Without comments."""
    return re.sub(r"^\s*//.*$", "", path.read_text("utf-8"), flags=re.MULTILINE)


def resource(file: str, kind: str) -> dict[str, str]:
    found = [one for one in resources(AZURE / file) if one.kind.partition("@")[0] == kind]
    assert len(found) == 1, f"{file} has {len(found)} of {kind}"
    return dict(properties(found[0]))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_a_file_is_bicep_that_asks_for_no_key_names_versions_and_uses_all_that_it_declares(path):
    assert faults(path) == []
    assert not re.search(r"listKeys|listSecrets|listAccountSas|RootManage|authorizationRules|primaryKey|sharedKey\b", code(path))
    assert not re.search(r"@secure|password|connectionString|accountKey|SharedAccess", code(path), re.IGNORECASE)
    for one in resources(path):
        assert re.fullmatch(r"Microsoft\.[A-Za-z]+(/[A-Za-z]+)+@20\d\d-\d\d-\d\d(-preview)?", one.kind), one.kind
    declared = [*parameters(path), *re.findall(r"^var (\w+) =", code(path), re.MULTILINE)]
    assert [name for name in declared if len(re.findall(rf"\b{name}\b", code(path))) < 2] == []


@pytest.mark.parametrize(
    ("file", "kind"),
    [
        ("servicebus.bicep", "Microsoft.ServiceBus/namespaces"),
        ("eventhubs.bicep", "Microsoft.EventHub/namespaces"),
        ("environment.bicep", "Microsoft.OperationalInsights/workspaces"),
    ],
)
def test_keys_are_switched_off_where_there_could_be_some(file, kind):
    assert resource(file, kind)["disableLocalAuth"] == "true"


def test_storage_refuses_keys_and_the_vault_knows_roles_alone():
    storage = resource("environment.bicep", "Microsoft.Storage/storageAccounts")

    assert storage["allowSharedKeyAccess"] == storage["allowBlobPublicAccess"] == "false"
    assert storage["defaultAction"] == "'Deny'"
    assert resource("environment.bicep", "Microsoft.Storage/storageAccounts/fileServices/shares")["enabledProtocols"] == "'NFS'"
    vault = resource("vault.bicep", "Microsoft.KeyVault/vaults")
    assert vault["enableRbacAuthorization"] == vault["enablePurgeProtection"] == "true"


def test_an_app_gets_the_few_rights_it_needs_on_the_things_it_uses():
    named = dict(
        re.findall(
            r"^  (\w+): subscriptionResourceId\('Microsoft.Authorization/roleDefinitions', '([-0-9a-f]+)'\)$",
            code(APP),
            re.MULTILINE,
        )
    )
    assigned = [dict(properties(one)) for one in resources(APP) if one.kind.startswith("Microsoft.Authorization/roleAssignments")]

    assert named == LEAST
    assert {one["roleDefinitionId"]: one["scope"] for one in assigned} == {
        "roles.secretsUser": "secret[at]",
        "roles.serviceBusSender": "topic",
        "roles.serviceBusReceiver": "subscription[at]",
        "roles.eventHubsSender": "hub",
        "roles.eventHubsReceiver": "hub",
        "roles.acrPull": "registry",
    }
    assert {one["principalId"] for one in assigned} == {"identity.properties.principalId"}
    others = [one.kind for path in FILES if path != APP for one in resources(path) if "roleAssignments" in one.kind]
    assert others == []


def test_an_identity_may_act_before_its_app_starts():
    app = next(one for one in resources(APP) if one.kind.startswith("Microsoft.App/containerApps@"))
    needed = [one.name for one in resources(APP) if one.kind.startswith("Microsoft.Authorization/roleAssignments")]
    waits = app.text.rpartition("dependsOn:")[2]
    assert [name for name in needed if not re.search(rf"\b{name}\b", waits)] == []


def test_modules_get_the_parameters_they_have():
    for module in modules(MAIN):
        has = parameters(AZURE / module.kind)
        assert {name for name, one in has.items() if not one.has_default} <= given_to(module) <= set(has), module.name


def test_a_process_has_in_bicep_the_fields_that_are_rendered():
    declared = fields_of_type(AZURE / "types.bicep", "Process")
    assert declared == {field.name for field in fields(containerapps._App)}
    assert set(re.findall(r"\bprocess\.(\w+)", code(APP))) | {"consumerGroups"} == declared


def test_a_subscription_lets_pass_what_the_bus_sends_it():
    rules = [dict(properties(one)) for one in resources(AZURE / "servicebus.bicep") if "/rules@" in one.kind]
    own, everyone = rules

    # Under this name it takes the place of the rule that lets everything pass.
    assert (own["name"], own[TARGET]) == ("'$Default'", "name")
    subscription = subscription_of("works.g2", "ada")
    assert everyone[TARGET] == "'${split(name, '.')[0]}.*'"
    assert f"{subscription.split('.')[0]}.*" == target_of_all(subscription)
    assert {rule["filterType"] for rule in rules} == {"'CorrelationFilter'"}


def test_entities_are_as_the_bus_would_make_them():
    subscription = resource("servicebus.bicep", "Microsoft.ServiceBus/namespaces/topics/subscriptions")

    assert (subscription["lockDuration"], subscription["maxDeliveryCount"]) == ("'PT5M'", "100")
    assert resource("servicebus.bicep", "Microsoft.ServiceBus/namespaces/topics")["requiresDuplicateDetection"] == "true"
    assert resource("servicebus.bicep", "Microsoft.ServiceBus/namespaces")["name"] == "'Standard'", "topics begin there"
    assert parameters(MAIN)["topic"].text.endswith("'hive-events'")
    assert resource("eventhubs.bicep", "Microsoft.EventHub/namespaces/eventhubs")["partitionCount"] == "partitions"


def test_an_app_is_the_container_that_the_image_is_made_for():
    app = next(one for one in resources(APP) if one.kind.startswith("Microsoft.App/containerApps@"))
    said = properties(app)

    assert ("args", f"['agent', '--config', '{in_containers.CONFIG_FOLDER}/{in_containers.CONFIG_FILE}']") in said
    assert {value for name, value in said if name == "port"} == {str(in_containers.PORT)}
    assert {value for name, value in said if name == "path"} >= {
        "'/healthz'",
        "'/readyz'",
        f"'{in_containers.CONFIG_FILE}'",
        f"'{in_containers.OWN_KEY_FILE}'",
    }
    assert f"var home = '{in_containers.HOME}'" in code(APP)
    assert f"var configSecret = '{containerapps.CONFIG_NAME}'" in code(APP)
    assert {value for name, value in said if name == "mountPath"} == {
        "home",
        "'/share'",
        f"'{in_containers.CONFIG_FOLDER}'",
        f"'{in_containers.FILES}'",
        f"'{in_containers.PUBLIC_KEYS}'",
        f"'{in_containers.OWN_KEY_FOLDER}'",
    }
    assert [value for name, value in said if name in ("minReplicas", "maxReplicas")] == ["1", "1"]
    assert "ingress" not in {name for name, _ in said}
    assert f"chown {in_containers.USER}:{in_containers.USER} " in app.text
    # More than ten failures are refused.
    assert all(int(value) <= 10 for name, value in said if name == "failureThreshold")
