"""Go's types of the group storage; `masthead_server.resources.go_types` says how to read them."""

from typing import Final

__all__ = ["TYPES"]

TYPES: Final = {
    "v1": """
CSIDriverSpec attachRequired:* fsGroupPolicy:*FSGroupPolicy nodeAllocatableUpdatePeriodSeconds:*
    podInfoOnMount:* preventPodSchedulingIfMissing:* requiresRepublish:* seLinuxMount:*
    serviceAccountTokenInSecrets:* storageCapacity:* volumeLifecycleModes:[]VolumeLifecycleMode
CSINodeDriver topologyKeys!
CSINodeSpec drivers!
StorageClass allowVolumeExpansion:* reclaimPolicy:*PersistentVolumeReclaimPolicy
    volumeBindingMode:*VolumeBindingMode
TokenRequest expirationSeconds:*
VolumeAttachmentSource persistentVolumeName:*
VolumeError errorCode:* time!
VolumeNodeResources count:*
""",
}
