"""The manifest of Kubernetes: its fields are those of JobSet's published CRD (v1alpha2) and of the
Job inside it, and its parts fit each other, the image and `deploy/machine.sh`.
"""

from pathlib import Path

import pytest
import yaml

from tux.base.errors import DataError, DiskError, Refused, UsageError

DEPLOY = Path(__file__).parent.parent.parent / "deploy"
WHOLE, TEXT, SWITCH = int, str, bool
LABELS = {"*": TEXT}
METADATA = {"name": TEXT, "namespace": TEXT, "labels": LABELS, "annotations": LABELS}
FIELD = {"fieldRef!": {"apiVersion": TEXT, "fieldPath!": TEXT}}
MOUNT = {"name!": TEXT, "mountPath!": TEXT, "readOnly": SWITCH, "subPath": TEXT}
CONTAINER = {
    "name!": TEXT,
    "image": TEXT,
    "imagePullPolicy": {"Always", "IfNotPresent", "Never"},
    "command": [TEXT],
    "args": [TEXT],
    "env": [{"name!": TEXT, "value": TEXT, "valueFrom": FIELD}],
    "ports": [{"name": TEXT, "containerPort!": WHOLE, "protocol": {"TCP", "UDP", "SCTP"}}],
    "resources": {"requests": LABELS, "limits": LABELS},
    "securityContext": {
        "allowPrivilegeEscalation": SWITCH,
        "readOnlyRootFilesystem": SWITCH,
        "capabilities": {"add": [TEXT], "drop": [TEXT]},
    },
    "volumeMounts": [MOUNT],
}
POD = {
    "restartPolicy": {"Always", "OnFailure", "Never"},
    "terminationGracePeriodSeconds": WHOLE,
    "automountServiceAccountToken": SWITCH,
    "nodeSelector": LABELS,
    "securityContext": {
        "runAsNonRoot": SWITCH,
        "runAsUser": WHOLE,
        "runAsGroup": WHOLE,
        "fsGroup": WHOLE,
        "seccompProfile": {"type!": {"RuntimeDefault", "Localhost", "Unconfined"}},
    },
    "topologySpreadConstraints": [
        {
            "maxSkew!": WHOLE,
            "topologyKey!": TEXT,
            "whenUnsatisfiable!": {"DoNotSchedule", "ScheduleAnyway"},
            "labelSelector": {"matchLabels": LABELS},
            "matchLabelKeys": [TEXT],
        }
    ],
    "containers!": [CONTAINER],
    "volumes": [
        {
            "name!": TEXT,
            "secret": {"secretName": TEXT, "defaultMode": WHOLE, "optional": SWITCH},
            "persistentVolumeClaim": {"claimName!": TEXT, "readOnly": SWITCH},
            "emptyDir": {"medium": TEXT, "sizeLimit": TEXT},
        }
    ],
}
JOB = {
    "activeDeadlineSeconds": WHOLE,
    "backoffLimit": WHOLE,
    "completionMode": {"Indexed", "NonIndexed"},
    "completions": WHOLE,
    "parallelism": WHOLE,
    "podFailurePolicy": {
        "rules!": [
            {
                "action!": {"FailJob", "FailIndex", "Ignore", "Count"},
                "onExitCodes": {
                    "containerName": TEXT,
                    "operator!": {"In", "NotIn"},
                    "values!": [WHOLE],
                },
            }
        ]
    },
    "ttlSecondsAfterFinished": WHOLE,
    "template!": {"metadata": METADATA, "spec": POD},
}
JOBSET = {
    "apiVersion!": {"jobset.x-k8s.io/v1alpha2"},
    "kind!": {"JobSet"},
    "metadata!": METADATA,
    "spec!": {
        "network": {
            "enableDNSHostnames": SWITCH,
            "publishNotReadyAddresses": SWITCH,
            "subdomain": TEXT,
        },
        "failurePolicy": {
            "maxRestarts": WHOLE,
            "restartStrategy": {"Recreate", "BlockingRecreate", "InPlaceRestart"},
            "rules": [
                {
                    "name!": TEXT,
                    "action!": {"FailJobSet", "RestartJobSet", "RestartJobSetAndIgnoreMaxRestarts"},
                    "onJobFailureReasons": [TEXT],
                    "targetReplicatedJobs": [TEXT],
                }
            ],
        },
        "suspend": SWITCH,
        "ttlSecondsAfterFinished": WHOLE,
        "replicatedJobs": [
            {
                "name!": TEXT,
                "groupName": TEXT,
                "replicas": WHOLE,
                "template!": {"metadata": METADATA, "spec": JOB},
            }
        ],
    },
}
"""The part of the schemas that the manifest may use. A type, the values of an enumeration, a list
of one kind, or an object; `!` marks what is required, `*` stands for any name.
"""


def faults(value, schema, where="manifest"):
    """Return the parts of a document that do not fit a schema of the form above, each as a
    sentence.
    """
    if isinstance(schema, set):
        return [] if value in schema else [f"{where}: {value!r} is none of {sorted(schema)}"]
    if isinstance(schema, type):
        fits = type(value) is schema
        return [] if fits else [f"{where}: {value!r} is no {schema.__name__}"]
    if isinstance(schema, list):
        if not isinstance(value, list):
            return [f"{where}: no list"]
        return [
            fault
            for number, each in enumerate(value)
            for fault in faults(each, schema[0], f"{where}[{number}]")
        ]
    if not isinstance(value, dict):
        return [f"{where}: no object"]
    known = {name.removesuffix("!"): kind for name, kind in schema.items()}
    missing = {name[:-1] for name in schema if name.endswith("!")} - set(value)
    out = [f"{where}: {name} is missing" for name in sorted(missing)]
    for name, each in value.items():
        kind = known.get(name, known.get("*"))
        out += faults(each, kind, f"{where}.{name}") if kind else [f"{where}: no field {name}"]
    return out


@pytest.fixture
def manifest():
    return yaml.safe_load((DEPLOY / "jobset.yaml").read_text(encoding="utf-8"))


@pytest.fixture
def job(manifest):
    return manifest["spec"]["replicatedJobs"][0]["template"]["spec"]


@pytest.fixture
def pod(job):
    return job["template"]["spec"]


def test_all_fields_are_in_the_schema(manifest):
    assert faults(manifest, JOBSET) == []


def test_a_wrong_field_would_be_found(manifest, job):
    job["completion"] = job.pop("completions")
    job["parallelism"] = "2"
    manifest["spec"]["failurePolicy"]["restartStrategy"] = "Always"
    assert [fault.rpartition(".")[2] for fault in faults(manifest, JOBSET)] == [
        "restartStrategy: 'Always' is none of ['BlockingRecreate', 'InPlaceRestart', 'Recreate']",
        "parallelism: '2' is no int",
        "spec: no field completion",
    ]


def test_each_pod_is_one_machine_and_all_run_at_once(job, pod):
    environment = {each["name"]: each.get("value") for each in pod["containers"][0]["env"]}
    assert job["completionMode"] == "Indexed"
    assert job["completions"] == job["parallelism"] == int(environment["MACHINES"])


def test_the_machines_meet_at_the_pod_of_index_0(manifest, pod):
    [replicated] = manifest["spec"]["replicatedJobs"]
    assert replicated["replicas"] == 1 and "subdomain" not in manifest["spec"]["network"]
    assert manifest["spec"]["network"]["enableDNSHostnames"]
    names = [each["name"] for each in pod["containers"][0]["env"]]
    environment = {each["name"]: each for each in pod["containers"][0]["env"]}
    assert environment["MEETING"]["value"] == f"$(JOBSET)-{replicated['name']}-0-0.$(JOBSET)"
    assert names.index("JOBSET") < names.index("MEETING"), "only earlier names are replaced"
    paths = [
        environment[name]["valueFrom"]["fieldRef"]["fieldPath"] for name in ("JOBSET", "ATTEMPT")
    ]
    assert paths == [
        "metadata.labels['jobset.sigs.k8s.io/jobset-name']",
        "metadata.labels['jobset.sigs.k8s.io/restart-attempt']",
    ]


def test_machine_sh_finds_what_it_asks_for(pod):
    script = (DEPLOY / "machine.sh").read_text(encoding="utf-8")
    given = {each["name"] for each in pod["containers"][0]["env"]}
    for name in ("MACHINES", "ATTEMPT", "MEETING", "KEY_FILE"):
        assert f"${name}" in script and name in given
    assert pod["containers"][0]["ports"][0]["containerPort"] == 29400 and ":29400" in script


def test_the_key_is_a_file_of_a_secret_that_only_the_pod_reads(pod):
    [container] = pod["containers"]
    volumes = {each["name"]: each for each in pod["volumes"]}
    mounts = {each["mountPath"]: each for each in container["volumeMounts"]}
    environment = {each["name"]: each.get("value") for each in container["env"]}
    folder = environment["KEY_FILE"].rpartition("/")[0]
    assert mounts[folder]["readOnly"] and volumes[mounts[folder]["name"]]["secret"]["secretName"]
    assert volumes[mounts[folder]["name"]]["secret"]["defaultMode"] == 0o440
    assert "TUX_JOB_KEY" not in environment and "--key-file" not in container["args"]


def test_checkpoints_lie_on_the_shared_volume(pod):
    [container] = pod["containers"]
    volumes = {each["name"]: each for each in pod["volumes"]}
    mounts = {each["mountPath"]: each["name"] for each in container["volumeMounts"]}
    assert container["args"][0].startswith("/runs/") and "--checkpoint-every" in container["args"]
    assert "persistentVolumeClaim" in volumes[mounts["/runs"]]
    assert set(mounts.values()) == set(volumes)


def test_a_lost_pod_starts_all_again_and_a_wrong_flag_does_not(manifest, job):
    policy = manifest["spec"]["failurePolicy"]
    assert job["backoffLimit"] == 0 and policy["maxRestarts"] > 0
    assert policy["restartStrategy"] == "BlockingRecreate", "machine.sh removes the run's lock"
    [rule] = job["podFailurePolicy"]["rules"]
    final = {error.exit_code for error in (UsageError, DataError, DiskError, Refused)}
    assert rule["action"] == "FailJob" and set(rule["onExitCodes"]["values"]) == final
    assert rule["onExitCodes"]["values"] == sorted(final)
    [whole] = policy["rules"]
    assert (whole["action"], whole["onJobFailureReasons"]) == ("FailJobSet", ["PodFailurePolicy"])


def test_the_pod_has_no_rights_that_it_does_not_need(pod):
    [container] = pod["containers"]
    rights = container["securityContext"]
    assert pod["securityContext"]["runAsNonRoot"] and not pod["automountServiceAccountToken"]
    assert not rights["allowPrivilegeEscalation"] and rights["capabilities"] == {"drop": ["ALL"]}
    written = [each["mountPath"] for each in container["volumeMounts"] if not each.get("readOnly")]
    assert rights["readOnlyRootFilesystem"] and written == ["/runs", "/tmp"]
