"""Go's types of the group resource; `masthead_server.resources.go_types` says how to read them."""

from typing import Final

__all__ = ["TYPES"]

TYPES: Final = {
    "v1": """
AllocatedDeviceStatus conditions! shareID:*
CapacityRequestPolicy default:*!
CapacityRequirements requests:map[QualifiedName]resource.Quantity
Counter value!
Device allNodes:* allowMultipleAllocations:* attributes:map[QualifiedName]DeviceAttribute bindsToNode:*
    capacity:map[QualifiedName]DeviceCapacity
    nodeAllocatableResourceMappings:map[ResourceName]NodeAllocatableResourceMapping nodeName:*
DeviceAllocationConfiguration source:AllocationConfigSource DeviceConfiguration(opaque)
DeviceAttribute bool:* int:* string:* version:*
DeviceCapacity value!
DeviceClaim requests!
DeviceClaimConfiguration DeviceConfiguration(opaque)
DeviceClassConfiguration DeviceConfiguration(opaque)
DeviceClassSpec extendedResourceName:*
DeviceConstraint distinctAttribute:*FullyQualifiedName matchAttribute:*FullyQualifiedName
DeviceRequestAllocationResult adminAccess:* consumedCapacity:map[QualifiedName]resource.Quantity
    shareID:*types.UID
DeviceSubRequest allocationMode:DeviceAllocationMode
DeviceTaint effect:DeviceTaintEffect
DeviceToleration effect:DeviceTaintEffect operator:DeviceTolerationOperator tolerationSeconds:*
ExactDeviceRequest adminAccess:* allocationMode:DeviceAllocationMode
NodeAllocatableResourceMapping capacityKey:*QualifiedName
OpaqueDeviceConfiguration parameters!
ResourceClaimConsumerReference uid:types.UID
ResourceSliceSpec allNodes:* nodeName:* perDeviceNodeSelection:*
""",
    "v1alpha3": """
DeviceTaint effect:DeviceTaintEffect
DeviceTaintSelector device:* driver:* pool:*
PoolStatus allocatedDevices:* availableDevices:* nodeName:* resourceSliceCount:* totalDevices:*
    unavailableDevices:* validationError:*
ResourcePoolStatusRequestSpec limit:* poolName:*
ResourcePoolStatusRequestStatus poolCount:*
""",
    "v1beta1": """
AllocatedDeviceStatus conditions! shareID:*
BasicDevice allNodes:* allowMultipleAllocations:* attributes:map[QualifiedName]DeviceAttribute
    bindsToNode:* capacity:map[QualifiedName]DeviceCapacity
    nodeAllocatableResourceMappings:map[v1.ResourceName]NodeAllocatableResourceMapping nodeName:*
CapacityRequestPolicy default:*!
CapacityRequirements requests:map[QualifiedName]resource.Quantity
Counter value!
DeviceAllocationConfiguration source:AllocationConfigSource DeviceConfiguration(opaque)
DeviceAttribute bool:* int:* string:* version:*
DeviceCapacity value!
DeviceClaim requests!
DeviceClaimConfiguration DeviceConfiguration(opaque)
DeviceClassConfiguration DeviceConfiguration(opaque)
DeviceClassSpec extendedResourceName:*
DeviceConstraint distinctAttribute:*FullyQualifiedName matchAttribute:*FullyQualifiedName
DeviceRequest adminAccess:* allocationMode:DeviceAllocationMode
DeviceRequestAllocationResult adminAccess:* consumedCapacity:map[QualifiedName]resource.Quantity
    shareID:*types.UID
DeviceSubRequest allocationMode:DeviceAllocationMode
DeviceTaint effect:DeviceTaintEffect
DeviceToleration effect:DeviceTaintEffect operator:DeviceTolerationOperator tolerationSeconds:*
NodeAllocatableResourceMapping capacityKey:*QualifiedName
OpaqueDeviceConfiguration parameters!
ResourceClaimConsumerReference uid:types.UID
ResourceSliceSpec perDeviceNodeSelection:*
""",
    "v1beta2": """
AllocatedDeviceStatus conditions! shareID:*
CapacityRequestPolicy default:*!
CapacityRequirements requests:map[QualifiedName]resource.Quantity
Counter value!
Device allNodes:* allowMultipleAllocations:* attributes:map[QualifiedName]DeviceAttribute bindsToNode:*
    capacity:map[QualifiedName]DeviceCapacity
    nodeAllocatableResourceMappings:map[v1.ResourceName]NodeAllocatableResourceMapping nodeName:*
DeviceAllocationConfiguration source:AllocationConfigSource DeviceConfiguration(opaque)
DeviceAttribute bool:* int:* string:* version:*
DeviceCapacity value!
DeviceClaim requests!
DeviceClaimConfiguration DeviceConfiguration(opaque)
DeviceClassConfiguration DeviceConfiguration(opaque)
DeviceClassSpec extendedResourceName:*
DeviceConstraint distinctAttribute:*FullyQualifiedName matchAttribute:*FullyQualifiedName
DeviceRequestAllocationResult adminAccess:* consumedCapacity:map[QualifiedName]resource.Quantity
    shareID:*types.UID
DeviceSubRequest allocationMode:DeviceAllocationMode
DeviceTaint effect:DeviceTaintEffect
DeviceTaintSelector device:* driver:* pool:*
DeviceToleration effect:DeviceTaintEffect operator:DeviceTolerationOperator tolerationSeconds:*
ExactDeviceRequest adminAccess:* allocationMode:DeviceAllocationMode
NodeAllocatableResourceMapping capacityKey:*QualifiedName
OpaqueDeviceConfiguration parameters!
ResourceClaimConsumerReference uid:types.UID
ResourceSliceSpec allNodes:* nodeName:* perDeviceNodeSelection:*
""",
}
