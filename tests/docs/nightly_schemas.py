"""Schemas of the ready files of the nightly job, for the fields that they use.

Owns: JSON Schemas, written from the official documentation: GitHub's "Workflow syntax for GitHub Actions", and the
Kubernetes API reference of batch/v1 CronJob, core/v1 PodSpec and PersistentVolumeClaim. A field that is not here is
refused, so that a misspelt one cannot hide; a field that is wanted has to be looked up first. Floor: tests.
"""

from __future__ import annotations

from typing import Any

Schema = dict[str, Any]


def _object(properties: Schema, *required: str) -> Schema:
    return {"type": "object", "additionalProperties": False, "required": list(required), "properties": properties}


def _map(values: Schema) -> Schema:
    return {"type": "object", "additionalProperties": values}


def _array(items: Schema) -> Schema:
    return {"type": "array", "items": items, "minItems": 1}


_TEXT: Schema = {"type": "string", "minLength": 1}
_FLAG: Schema = {"type": "boolean"}
_COUNT: Schema = {"type": "integer", "minimum": 0}
_AT_LEAST_ONE: Schema = {"type": "integer", "minimum": 1}
_SCALAR: Schema = {"type": ["string", "number", "boolean"]}
_CRON: Schema = {"type": "string", "pattern": r"^[0-9*,/-]+( [0-9*,/-]+){4}$"}
_NAME: Schema = {"type": "string", "pattern": "^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$"}
_QUANTITY: Schema = {"type": "string", "pattern": "^[0-9]+(\\.[0-9]+)?(m|k|M|G|T|Ki|Mi|Gi|Ti)?$"}
_PATH: Schema = {"type": "string", "pattern": "^/"}

_STEP = {
    **_object(
        {
            "name": _TEXT,
            "id": _TEXT,
            "if": {"type": ["string", "boolean"]},
            "uses": {"type": "string", "pattern": "^[^@ ]+@[^@ ]+$"},
            "run": _TEXT,
            "with": _map(_SCALAR),
            "env": _map(_SCALAR),
            "shell": _TEXT,
            "working-directory": _TEXT,
            "timeout-minutes": _AT_LEAST_ONE,
            "continue-on-error": _FLAG,
        }
    ),
    "oneOf": [{"required": ["uses"]}, {"required": ["run"]}],
}

_INPUT = _object(
    {
        "description": _TEXT,
        "required": _FLAG,
        "default": _SCALAR,
        "type": {"enum": ["boolean", "choice", "number", "environment", "string"]},
    }
)

_JOB = _object(
    {
        "name": _TEXT,
        "runs-on": _TEXT,
        "timeout-minutes": _AT_LEAST_ONE,
        "env": _map(_SCALAR),
        "steps": _array(_STEP),
    },
    "runs-on",
    "steps",
)

WORKFLOW = _object(
    {
        "name": _TEXT,
        "on": _object(
            {
                "schedule": _array(_object({"cron": _CRON}, "cron")),
                "workflow_dispatch": _object({"inputs": _map(_INPUT)}),
            }
        ),
        "concurrency": _object({"group": _TEXT, "cancel-in-progress": _FLAG}, "group"),
        "permissions": _map({"enum": ["read", "write", "none"]}),
        "jobs": _map(_JOB),
    },
    "on",
    "jobs",
)

_METADATA = _object({"name": _NAME, "namespace": _NAME, "labels": _map(_TEXT), "annotations": _map(_TEXT)}, "name")
_TEMPLATE_METADATA = _object({"labels": _map(_TEXT), "annotations": _map(_TEXT)})
_RESOURCES = _object({"requests": _map(_QUANTITY), "limits": _map(_QUANTITY)})

_CONTAINER = _object(
    {
        "name": _NAME,
        "image": _TEXT,
        "workingDir": _PATH,
        "command": _array(_TEXT),
        "args": _array(_TEXT),
        "env": _array(_object({"name": {"type": "string", "pattern": "^[-._a-zA-Z][-._a-zA-Z0-9]*$"}, "value": _TEXT})),
        "resources": _RESOURCES,
        "securityContext": _object(
            {
                "allowPrivilegeEscalation": _FLAG,
                "readOnlyRootFilesystem": _FLAG,
                "runAsNonRoot": _FLAG,
                "runAsUser": _COUNT,
            }
        ),
        "volumeMounts": _array(
            _object({"name": _NAME, "mountPath": _PATH, "readOnly": _FLAG}, "name", "mountPath"),
        ),
    },
    "name",
    "image",
)

_VOLUME = {
    **_object(
        {
            "name": _NAME,
            "persistentVolumeClaim": _object({"claimName": _NAME, "readOnly": _FLAG}, "claimName"),
            "emptyDir": _object({"medium": {"enum": ["", "Memory"]}, "sizeLimit": _QUANTITY}),
        },
        "name",
    ),
    "minProperties": 2,
    "maxProperties": 2,
}

_POD = _object(
    {
        # A pod of a job may not have restartPolicy Always.
        "restartPolicy": {"enum": ["Never", "OnFailure"]},
        "terminationGracePeriodSeconds": _COUNT,
        "securityContext": _object(
            {"runAsNonRoot": _FLAG, "runAsUser": _COUNT, "runAsGroup": _COUNT, "fsGroup": _COUNT}
        ),
        "containers": _array(_CONTAINER),
        "volumes": _array(_VOLUME),
    },
    "containers",
    "restartPolicy",
)

_JOB_SPEC = _object(
    {
        "backoffLimit": _COUNT,
        "activeDeadlineSeconds": _AT_LEAST_ONE,
        "ttlSecondsAfterFinished": _COUNT,
        "template": _object({"metadata": _TEMPLATE_METADATA, "spec": _POD}, "spec"),
    },
    "template",
)

CRON_JOB = _object(
    {
        "apiVersion": {"const": "batch/v1"},
        "kind": {"const": "CronJob"},
        "metadata": _METADATA,
        "spec": _object(
            {
                "schedule": _CRON,
                "timeZone": _TEXT,
                "concurrencyPolicy": {"enum": ["Allow", "Forbid", "Replace"]},
                "startingDeadlineSeconds": _COUNT,
                "suspend": _FLAG,
                "successfulJobsHistoryLimit": _COUNT,
                "failedJobsHistoryLimit": _COUNT,
                "jobTemplate": _object({"metadata": _TEMPLATE_METADATA, "spec": _JOB_SPEC}, "spec"),
            },
            "schedule",
            "jobTemplate",
        ),
    },
    "apiVersion",
    "kind",
    "metadata",
    "spec",
)

CLAIM = _object(
    {
        "apiVersion": {"const": "v1"},
        "kind": {"const": "PersistentVolumeClaim"},
        "metadata": _METADATA,
        "spec": _object(
            {
                "accessModes": _array({"enum": ["ReadWriteOnce", "ReadOnlyMany", "ReadWriteMany", "ReadWriteOncePod"]}),
                "storageClassName": _TEXT,
                "resources": _RESOURCES,
            },
            "accessModes",
            "resources",
        ),
    },
    "apiVersion",
    "kind",
    "metadata",
    "spec",
)
