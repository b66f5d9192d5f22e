"""Go's types of the group core; `masthead_server.resources.go_types` says how to read them."""

from typing import Final

__all__ = ["TYPES"]

TYPES: Final = {
    "v1": """
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
}
