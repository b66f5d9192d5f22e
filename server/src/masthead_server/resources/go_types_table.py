"""Go's types of the fields of built-in kinds, by package below `masthead.api`; `go_types` explains the notation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["TYPES"]

TYPES: Final[Mapping[str, str]] = {
    "admissionregistration.v1": """
MatchResources matchPolicy:*MatchPolicyType
MutatingAdmissionPolicySpec failurePolicy:*FailurePolicyType reinvocationPolicy:ReinvocationPolicyType
MutatingWebhook admissionReviewVersions! failurePolicy:*FailurePolicyType matchPolicy:*MatchPolicyType
    reinvocationPolicy:*ReinvocationPolicyType sideEffects:*SideEffectClass! timeoutSeconds:*
Mutation patchType:PatchType
NamedRuleWithOperations operations:[]OperationType scope:*ScopeType RuleWithOperations.Rule(apiGroups
    apiVersions resources scope) RuleWithOperations(operations)
ParamRef parameterNotFoundAction:*ParameterNotFoundActionType
RuleWithOperations operations:[]OperationType scope:*ScopeType Rule(apiGroups apiVersions resources
    scope)
ServiceReference path:* port:*
ValidatingAdmissionPolicyBindingSpec validationActions:[]ValidationAction
ValidatingAdmissionPolicySpec failurePolicy:*FailurePolicyType
ValidatingWebhook admissionReviewVersions! failurePolicy:*FailurePolicyType matchPolicy:*MatchPolicyType
    sideEffects:*SideEffectClass! timeoutSeconds:*
Validation reason:*StatusReason
WebhookClientConfig url:*
""",
    "admissionregistration.v1alpha1": """
MatchResources matchPolicy:*MatchPolicyType
MutatingAdmissionPolicySpec failurePolicy:*FailurePolicyType reinvocationPolicy:v1.ReinvocationPolicyType
Mutation patchType:PatchType
NamedRuleWithOperations operations:[]v1.OperationType scope:*v1.ScopeType
    RuleWithOperations.Rule(apiGroups apiVersions resources scope) RuleWithOperations(operations)
ParamRef parameterNotFoundAction:*ParameterNotFoundActionType
""",
    "admissionregistration.v1beta1": """
MatchResources matchPolicy:*MatchPolicyType
MutatingAdmissionPolicySpec failurePolicy:*FailurePolicyType reinvocationPolicy:v1.ReinvocationPolicyType
Mutation patchType:PatchType
NamedRuleWithOperations operations:[]v1.OperationType scope:*v1.ScopeType
    RuleWithOperations.Rule(apiGroups apiVersions resources scope) RuleWithOperations(operations)
ParamRef parameterNotFoundAction:*ParameterNotFoundActionType
""",
    "apiextensions.v1": """
CustomResourceConversion strategy:ConversionStrategyType
CustomResourceDefinitionCondition lastTransitionTime! status:ConditionStatus
    type:CustomResourceDefinitionConditionType
CustomResourceDefinitionSpec scope:ResourceScope versions!
CustomResourceDefinitionStatus conditions! storedVersions!
CustomResourceDefinitionVersion deprecationWarning:*
CustomResourceSubresourceScale labelSelectorPath:*
JSONSchemaProps $ref:* $schema:JSONSchemaURL additionalItems:JSONSchemaPropsOrBool
    additionalProperties:JSONSchemaPropsOrBool default:JSON definitions:JSONSchemaDefinitions
    dependencies:JSONSchemaDependencies enum:[]JSON example:JSON items:JSONSchemaPropsOrArray maxItems:*
    maxLength:* maxProperties:* maximum:* minItems:* minLength:* minProperties:* minimum:* multipleOf:*
    x-kubernetes-list-type:* x-kubernetes-map-type:* x-kubernetes-preserve-unknown-fields:*
    x-kubernetes-validations:ValidationRules
ServiceReference path:* port:*
ValidationRule optionalOldSelf:* reason:*FieldValueErrorReason
WebhookClientConfig url:*
WebhookConversion conversionReviewVersions!
""",
    "apiregistration.v1": """
APIServiceCondition lastTransitionTime! status:ConditionStatus type:APIServiceConditionType
ServiceReference port:*
""",
    "apiserverinternal.v1alpha1": """
StorageVersionCondition lastTransitionTime! status:ConditionStatus type:StorageVersionConditionType
StorageVersionStatus commonEncodingVersion:*
""",
    "apps.v1": """
ControllerRevision data!
DaemonSetCondition lastTransitionTime! status:ConditionStatus type:DaemonSetConditionType
DaemonSetSpec revisionHistoryLimit:* selector:*!
DaemonSetStatus collisionCount:*
DaemonSetUpdateStrategy type:DaemonSetUpdateStrategyType
DeploymentCondition lastTransitionTime! lastUpdateTime! status:ConditionStatus
    type:DeploymentConditionType
DeploymentSpec progressDeadlineSeconds:* replicas:* revisionHistoryLimit:* selector:*!
DeploymentStatus collisionCount:* terminatingReplicas:*
DeploymentStrategy type:DeploymentStrategyType
ReplicaSetCondition lastTransitionTime! status:ConditionStatus type:ReplicaSetConditionType
ReplicaSetSpec replicas:* selector:*!
ReplicaSetStatus terminatingReplicas:*
RollingUpdateStatefulSetStrategy partition:*
StatefulSetCondition lastTransitionTime! status:ConditionStatus type:StatefulSetConditionType
StatefulSetPersistentVolumeClaimRetentionPolicy whenDeleted:PersistentVolumeClaimRetentionPolicyType
    whenScaled:PersistentVolumeClaimRetentionPolicyType
StatefulSetSpec podManagementPolicy:PodManagementPolicyType replicas:* revisionHistoryLimit:* selector:*!
StatefulSetStatus collisionCount:*
StatefulSetUpdateStrategy type:StatefulSetUpdateStrategyType
""",
    "authentication.v1": """
BoundObjectReference uid:types.UID
TokenRequestSpec audiences! boundObjectRef:*! expirationSeconds:*!
TokenRequestStatus expirationTimestamp!
UserInfo extra:map[string]ExtraValue
""",
    "authorization.v1": """
NonResourceRule verbs!
ResourceRule verbs!
SubjectAccessReviewSpec extra:map[string]ExtraValue
SubjectRulesReviewStatus nonResourceRules! resourceRules!
""",
    "autoscaling.v1": """
HorizontalPodAutoscalerSpec minReplicas:* targetCPUUtilizationPercentage:*
HorizontalPodAutoscalerStatus currentCPUUtilizationPercentage:* observedGeneration:*
ScaleSpec replicas?
""",
    "autoscaling.v2": """
ContainerResourceMetricSource name:v1.ResourceName
ContainerResourceMetricStatus name:v1.ResourceName
HPAScalingPolicy type:HPAScalingPolicyType
HPAScalingRules policies= selectPolicy:*ScalingPolicySelect stabilizationWindowSeconds:*
HorizontalPodAutoscalerCondition lastTransitionTime! status:v1.ConditionStatus
    type:HorizontalPodAutoscalerConditionType
HorizontalPodAutoscalerSpec minReplicas:*
HorizontalPodAutoscalerStatus currentMetrics! observedGeneration:*
MetricSpec type:MetricSourceType
MetricStatus type:MetricSourceType
MetricTarget averageUtilization:* type:MetricTargetType
MetricValueStatus averageUtilization:*
ResourceMetricSource name:v1.ResourceName
ResourceMetricStatus name:v1.ResourceName
""",
    "batch.v1": """
CronJobSpec concurrencyPolicy:ConcurrencyPolicy failedJobsHistoryLimit:* startingDeadlineSeconds:*
    successfulJobsHistoryLimit:* suspend:* timeZone:*
JobCondition lastProbeTime! lastTransitionTime! status:ConditionStatus type:JobConditionType
JobSpec activeDeadlineSeconds:* backoffLimit:* backoffLimitPerIndex:* completionMode:*CompletionMode
    completions:* managedBy:* manualSelector:* maxFailedIndexes:* parallelism:*
    podReplacementPolicy:*PodReplacementPolicy suspend:* ttlSecondsAfterFinished:*
JobStatus failedIndexes:* ready:* terminating:*
PodFailurePolicy rules!
PodFailurePolicyOnExitCodesRequirement containerName:* operator:PodFailurePolicyOnExitCodesOperator
    values!
PodFailurePolicyOnPodConditionsPattern status:ConditionStatus type:PodConditionType
PodFailurePolicyRule action:PodFailurePolicyAction
SuccessPolicy rules!
SuccessPolicyRule succeededCount:* succeededIndexes:*
UncountedTerminatedPods failed:[]types.UID succeeded:[]types.UID
""",
    "certificates.v1": """
CertificateSigningRequestCondition lastTransitionTime! lastUpdateTime! status:ConditionStatus
    type:RequestConditionType
CertificateSigningRequestSpec expirationSeconds:* extra:map[string]ExtraValue request! usages:[]KeyUsage
""",
    "certificates.v1beta1": """
PodCertificateRequestSpec maxExpirationSeconds:* nodeName:types.NodeName nodeUID:types.UID pkixPublicKey!
    podUID:types.UID proofOfPossession! serviceAccountUID:types.UID stubPKCS10Request!
""",
    "coordination.v1": """
LeaseSpec holderIdentity:* leaseDurationSeconds:* leaseTransitions:* preferredHolder:*
    strategy:*CoordinatedLeaseStrategy
""",
    "coordination.v1alpha2": """
LeaseCandidateSpec strategy:v1.CoordinatedLeaseStrategy
""",
    "coordination.v1beta1": """
LeaseCandidateSpec strategy:v1.CoordinatedLeaseStrategy
""",
    "core.v1": """
AppArmorProfile localhostProfile:* type:AppArmorProfileType
AttachedVolume name:UniqueVolumeName
AzureDiskVolumeSource cachingMode:*AzureDataDiskCachingMode fsType:* kind:*AzureDataDiskKind readOnly:*?
AzureFilePersistentVolumeSource secretNamespace:*!
CSIVolumeSource fsType:* readOnly:*
Capabilities add:[]Capability drop:[]Capability
CephFSPersistentVolumeSource monitors!
CephFSVolumeSource monitors!
ClientIPConfig timeoutSeconds:*
ClusterTrustBundleProjection name:* optional:* signerName:*
ComponentCondition status:ConditionStatus type:ComponentConditionType
ConfigMap immutable:*
ConfigMapEnvSource name? optional:* LocalObjectReference(name)
ConfigMapKeySelector name? optional:* LocalObjectReference(name)
ConfigMapNodeConfigSource uid:types.UID
ConfigMapProjection name? optional:* LocalObjectReference(name)
ConfigMapVolumeSource defaultMode:* name? optional:* LocalObjectReference(name)
Container imagePullPolicy:PullPolicy restartPolicy:*ContainerRestartPolicy
    terminationMessagePolicy:TerminationMessagePolicy
ContainerImage names!
ContainerPort protocol:Protocol
ContainerResizePolicy resourceName:ResourceName restartPolicy:ResourceResizeRestartPolicy
ContainerRestartRule action:ContainerRestartRuleAction
ContainerRestartRuleOnExitCodes operator:ContainerRestartRuleOnExitCodesOperator
ContainerStateRunning startedAt!
ContainerStateTerminated finishedAt! startedAt!
ContainerStatus allocatedResources:ResourceList started:* stopSignal:*Signal
DownwardAPIVolumeFile mode:*
DownwardAPIVolumeSource defaultMode:*
EmptyDirVolumeSource medium:StorageMedium
EndpointAddress nodeName:*
EndpointPort appProtocol:* protocol:Protocol
EphemeralContainer imagePullPolicy:PullPolicy restartPolicy:*ContainerRestartPolicy
    terminationMessagePolicy:TerminationMessagePolicy EphemeralContainerCommon(args command env envFrom
    image imagePullPolicy lifecycle livenessProbe name ports readinessProbe resizePolicy resources
    restartPolicy restartPolicyRules securityContext startupProbe stdin stdinOnce terminationMessagePath
    terminationMessagePolicy tty volumeDevices volumeMounts workingDir)
Event eventTime! firstTimestamp! lastTimestamp!
EventSeries lastObservedTime!
FCVolumeSource lun:*
FileKeySelector optional:*?
GRPCAction service:*
GlusterfsPersistentVolumeSource endpointsNamespace:*
HTTPGetAction port! scheme:URIScheme
HostPathVolumeSource type:*HostPathType
ISCSIPersistentVolumeSource initiatorName:*
ISCSIVolumeSource initiatorName:*
ImageVolumeSource pullPolicy:PullPolicy
KeyToPath mode:*
Lifecycle stopSignal:*Signal
LimitRangeItem default:ResourceList defaultRequest:ResourceList max:ResourceList
    maxLimitRequestRatio:ResourceList min:ResourceList type:LimitType
LimitRangeSpec limits!
LoadBalancerIngress ipMode:*LoadBalancerIPMode
LocalObjectReference name?
LocalVolumeSource fsType:*
ModifyVolumeStatus status:PersistentVolumeClaimModifyVolumeStatus
NamespaceCondition lastTransitionTime! status:ConditionStatus type:NamespaceConditionType
NamespaceSpec finalizers:[]FinalizerName
NamespaceStatus phase:NamespacePhase
NodeAddress type:NodeAddressType
NodeAllocatableResourceClaimStatus resources:map[ResourceName]resource.Quantity!
NodeCondition lastHeartbeatTime! lastTransitionTime! status:ConditionStatus type:NodeConditionType
NodeFeatures supplementalGroupsPolicy:*
NodeRuntimeHandlerFeatures recursiveReadOnlyMounts:* userNamespaces:*
NodeSelector nodeSelectorTerms!
NodeSelectorRequirement operator:NodeSelectorOperator
NodeStatus allocatable:ResourceList capacity:ResourceList phase:NodePhase volumesInUse:[]UniqueVolumeName
NodeSwapStatus capacity:*
ObjectReference uid:types.UID
PersistentVolumeClaimCondition lastProbeTime! lastTransitionTime! status:ConditionStatus
    type:PersistentVolumeClaimConditionType
PersistentVolumeClaimSpec accessModes:[]PersistentVolumeAccessMode storageClassName:*
    volumeAttributesClassName:* volumeMode:*PersistentVolumeMode
PersistentVolumeClaimStatus accessModes:[]PersistentVolumeAccessMode
    allocatedResourceStatuses:map[ResourceName]ClaimResourceStatus allocatedResources:ResourceList
    capacity:ResourceList currentVolumeAttributesClassName:* phase:PersistentVolumeClaimPhase
PersistentVolumeSpec accessModes:[]PersistentVolumeAccessMode capacity:ResourceList
    persistentVolumeReclaimPolicy:PersistentVolumeReclaimPolicy volumeAttributesClassName:*
    volumeMode:*PersistentVolumeMode PersistentVolumeSource(awsElasticBlockStore azureDisk azureFile
    cephfs cinder csi fc flexVolume flocker gcePersistentDisk glusterfs hostPath iscsi local nfs
    photonPersistentDisk portworxVolume quobyte rbd scaleIO storageos vsphereVolume)
PersistentVolumeStatus phase:PersistentVolumePhase
PodCertificateProjection maxExpirationSeconds:*
PodCondition lastProbeTime! lastTransitionTime! status:ConditionStatus type:PodConditionType
PodDNSConfigOption value:*
PodExtendedResourceClaimStatus requestMappings!
PodOS name:OSName
PodReadinessGate conditionType:PodConditionType
PodResourceClaim resourceClaimName:* resourceClaimTemplateName:*
PodResourceClaimStatus resourceClaimName:*
PodSchedulingGroup podGroupName:*
PodSecurityContext fsGroup:* fsGroupChangePolicy:*PodFSGroupChangePolicy runAsGroup:* runAsNonRoot:*
    runAsUser:* seLinuxChangePolicy:*PodSELinuxChangePolicy
    supplementalGroupsPolicy:*SupplementalGroupsPolicy
PodSpec activeDeadlineSeconds:* automountServiceAccountToken:* containers! dnsPolicy:DNSPolicy
    enableServiceLinks:* hostUsers:* hostnameOverride:* overhead:ResourceList
    preemptionPolicy:*PreemptionPolicy priority:* restartPolicy:RestartPolicy runtimeClassName:*
    setHostnameAsFQDN:* shareProcessNamespace:* terminationGracePeriodSeconds:*
PodStatus allocatedResources:ResourceList phase:PodPhase qosClass:PodQOSClass resize:PodResizeStatus
PortStatus error:* protocol:Protocol
Probe terminationGracePeriodSeconds:* ProbeHandler(exec grpc httpGet tcpSocket)
ProjectedVolumeSource defaultMode:* sources!
RBDPersistentVolumeSource monitors!
RBDVolumeSource monitors!
ReplicationControllerCondition lastTransitionTime! status:ConditionStatus
    type:ReplicationControllerConditionType
ReplicationControllerSpec minReadySeconds? replicas:*
ResourceFieldSelector divisor!
ResourceHealth health:ResourceHealthStatus message:* resourceID:ResourceID
ResourceQuotaSpec hard:ResourceList scopes:[]ResourceQuotaScope
ResourceQuotaStatus hard:ResourceList used:ResourceList
ResourceRequirements limits:ResourceList requests:ResourceList
ResourceStatus name:ResourceName
ScaleIOPersistentVolumeSource secretRef:*!
ScaleIOVolumeSource secretRef:*!
ScopedResourceSelectorRequirement operator:ScopeSelectorOperator scopeName:ResourceQuotaScope
SeccompProfile localhostProfile:* type:SeccompProfileType
Secret immutable:* type:SecretType
SecretEnvSource name? optional:* LocalObjectReference(name)
SecretKeySelector name? optional:* LocalObjectReference(name)
SecretProjection name? optional:* LocalObjectReference(name)
SecretVolumeSource defaultMode:* optional:*
SecurityContext allowPrivilegeEscalation:* privileged:* procMount:*ProcMountType readOnlyRootFilesystem:*
    runAsGroup:* runAsNonRoot:* runAsUser:*
ServiceAccount automountServiceAccountToken:*
ServiceAccountTokenProjection expirationSeconds:*
ServicePort appProtocol:* protocol:Protocol targetPort!
ServiceSpec allocateLoadBalancerNodePorts:* externalTrafficPolicy:ServiceExternalTrafficPolicy
    internalTrafficPolicy:*ServiceInternalTrafficPolicy ipFamilies:[]IPFamily
    ipFamilyPolicy:*IPFamilyPolicy loadBalancerClass:* sessionAffinity:ServiceAffinity
    trafficDistribution:* type:ServiceType
TCPSocketAction port!
Taint effect:TaintEffect
Toleration effect:TaintEffect operator:TolerationOperator tolerationSeconds:*
TopologySelectorLabelRequirement values!
TopologySpreadConstraint minDomains:* nodeAffinityPolicy:*NodeInclusionPolicy
    nodeTaintsPolicy:*NodeInclusionPolicy whenUnsatisfiable:UnsatisfiableConstraintAction
TypedLocalObjectReference apiGroup:*!
TypedObjectReference apiGroup:*! namespace:*
Volume VolumeSource(awsElasticBlockStore azureDisk azureFile cephfs cinder configMap csi downwardAPI
    emptyDir ephemeral fc flexVolume flocker gcePersistentDisk gitRepo glusterfs hostPath image iscsi nfs
    persistentVolumeClaim photonPersistentDisk portworxVolume projected quobyte rbd scaleIO secret
    storageos vsphereVolume)
VolumeMount mountPropagation:*MountPropagationMode recursiveReadOnly:*RecursiveReadOnlyMode
VolumeMountStatus recursiveReadOnly:*RecursiveReadOnlyMode
VolumeResourceRequirements limits:ResourceList requests:ResourceList
WindowsSecurityContextOptions gmsaCredentialSpec:* gmsaCredentialSpecName:* hostProcess:* runAsUserName:*
""",
    "discovery.v1": """
Endpoint addresses! hostname:* nodeName:* zone:*
EndpointConditions ready:* serving:* terminating:*
EndpointPort appProtocol:* name:* port:* protocol:*Protocol
EndpointSlice addressType:AddressType endpoints! ports!
""",
    "events.v1": """
Event deprecatedFirstTimestamp! deprecatedLastTimestamp! eventTime!
EventSeries lastObservedTime!
""",
    "flowcontrol.v1": """
ExemptPriorityLevelConfiguration lendablePercent:* nominalConcurrencyShares:*
FlowDistinguisherMethod type:FlowDistinguisherMethodType
FlowSchemaCondition lastTransitionTime! status:ConditionStatus type:FlowSchemaConditionType
LimitResponse type:LimitResponseType
LimitedPriorityLevelConfiguration borrowingLimitPercent:* lendablePercent:* nominalConcurrencyShares:*!
NonResourcePolicyRule nonResourceURLs! verbs!
PolicyRulesWithSubjects subjects!
PriorityLevelConfigurationCondition lastTransitionTime! status:ConditionStatus
    type:PriorityLevelConfigurationConditionType
PriorityLevelConfigurationSpec type:PriorityLevelEnablement
ResourcePolicyRule apiGroups! namespaces! resources! verbs!
Subject kind:SubjectKind
""",
    "meta.v1": """
Condition lastTransitionTime! status:ConditionStatus
DeleteOptions gracePeriodSeconds:* ignoreStoreReadErrorWithClusterBreakingPotential:* orphanDependents:*
    propagationPolicy:*DeletionPropagation TypeMeta(apiVersion kind)
FieldSelectorRequirement operator:FieldSelectorOperator
LabelSelectorRequirement operator:LabelSelectorOperator
ListMeta remainingItemCount:*
ManagedFieldsEntry fieldsV1:FieldsV1 operation:ManagedFieldsOperationType
ObjectMeta deletionGracePeriodSeconds:* uid:types.UID
OwnerReference blockOwnerDeletion:* controller:* uid:types.UID
Preconditions resourceVersion:* uid:*types.UID
""",
    "networking.v1": """
HTTPIngressPath pathType:*PathType!
HTTPIngressRuleValue paths!
IngressClassParametersReference apiGroup:* namespace:* scope:*!
IngressPortStatus error:* protocol:Protocol
IngressRule IngressRuleValue(http)
IngressSpec ingressClassName:*
NetworkPolicyPort endPort:* protocol:*Protocol
NetworkPolicySpec policyTypes:[]PolicyType
""",
    "node.v1": """
Overhead podFixed:ResourceList
""",
    "policy.v1": """
PodDisruptionBudgetSpec unhealthyPodEvictionPolicy:*UnhealthyPodEvictionPolicyType
""",
    "rbac.v1": """
ClusterRole rules!
PolicyRule verbs!
Role rules!
""",
    "resource.v1": """
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
    "resource.v1alpha3": """
DeviceTaint effect:DeviceTaintEffect
DeviceTaintSelector device:* driver:* pool:*
PoolStatus allocatedDevices:* availableDevices:* nodeName:* resourceSliceCount:* totalDevices:*
    unavailableDevices:* validationError:*
ResourcePoolStatusRequestSpec limit:* poolName:*
ResourcePoolStatusRequestStatus poolCount:*
""",
    "resource.v1beta1": """
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
    "resource.v1beta2": """
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
    "scheduling.v1": """
PriorityClass preemptionPolicy:*PreemptionPolicy
""",
    "scheduling.v1alpha2": """
PodGroupResourceClaim resourceClaimName:* resourceClaimTemplateName:*
PodGroupResourceClaimStatus resourceClaimName:*
PodGroupSpec disruptionMode:*DisruptionMode podGroupTemplateRef:*! priority:*
PodGroupTemplate disruptionMode:*DisruptionMode priority:* schedulingConstraints:*!
PodGroupTemplateReference workload:*!
WorkloadSpec podGroupTemplates!
""",
    "storage.v1": """
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
