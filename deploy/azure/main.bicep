// A fleet on Azure Container Apps: an app per process, the buses they share, and as little right for each as it needs.
//
// Parameters come from `hive-mind apply -f FILE --render DIR`. Nobody has a key: namespaces and storage refuse them, apps sign in
// as themselves, and secrets stay in the vault. How it is deployed, in two steps, is in ../README.md.

targetScope = 'resourceGroup'

import { Process, PublicKeys } from 'types.bicep'

param location string = resourceGroup().location

@minLength(1)
@maxLength(48)
param fleet string

@description('Tags of the apps.')
param labels object = {}

param image string

@description('An Azure Container Registry in this resource group that has the image; empty for a public image.')
param registryName string = ''

@description('Name of the key vault, unique in Azure.')
@minLength(3)
@maxLength(24)
param vaultName string = 'hm-${uniqueString(resourceGroup().id, fleet)}'

@description('Empty: no Service Bus.')
param serviceBusNamespace string

param topic string = 'hive-events'

@description('Empty: no Event Hubs.')
param eventHubsNamespace string

param eventHub string = 'hive'

@allowed(['Standard', 'Premium'])
param eventHubsSku string = 'Standard'

@description('One per owner of a shard there was when the hub was made; then it stays.')
@minValue(1)
param partitions int = 1

@description('persistent: Azure Files over NFS. ephemeral: a disk that goes with its container.')
@allowed(['persistent', 'ephemeral'])
param storage string = 'persistent'

@minValue(1)
param storageGb int = 1

@minValue(1)
@maxValue(600)
param stopTimeoutS int = 20

param processes Process[]

@description('What all processes may know of keys; nothing where nobody has to prove who it is.')
param keys PublicKeys[] = []

@description('false: everything but the apps, so that secrets can be put into the vault first.')
param withApps bool = true

var hasServiceBus = !empty(serviceBusNamespace)
var hasEventHubs = !empty(eventHubsNamespace)
var isPersistent = storage == 'persistent'

module vault 'vault.bicep' = {
  name: '${fleet}-vault'
  params: {
    location: location
    vaultName: vaultName
  }
}

module serviceBus 'servicebus.bicep' = if (hasServiceBus) {
  name: '${fleet}-servicebus'
  params: {
    location: location
    namespaceName: serviceBusNamespace
    topicName: topic
    subscriptions: flatten(map(processes, process => process.subscriptions))
  }
}

module eventHubs 'eventhubs.bicep' = if (hasEventHubs) {
  name: '${fleet}-eventhubs'
  params: {
    location: location
    namespaceName: eventHubsNamespace
    hubName: eventHub
    skuName: eventHubsSku
    partitions: partitions
    consumerGroups: flatten(map(processes, process => process.consumerGroups))
  }
}

module environment 'environment.bicep' = {
  name: '${fleet}-environment'
  params: {
    location: location
    fleet: fleet
    isPersistent: isPersistent
    // A share of the premium tier has 100 GB at least.
    shareGb: max(100, storageGb * length(processes))
  }
}

// A few at a time: Azure makes role assignments slowly, and refuses too many at once.
@batchSize(5)
module apps 'app.bicep' = [for process in processes: if (withApps) {
  name: 'app-${process.app}'
  params: {
    location: location
    fleet: fleet
    labels: labels
    image: image
    registryName: registryName
    vaultName: vault.outputs.name
    environmentName: environment.outputs.name
    shareStorageName: environment.outputs.shareStorageName
    serviceBusNamespace: serviceBusNamespace
    topicName: topic
    eventHubsNamespace: eventHubsNamespace
    hubName: eventHub
    stopTimeoutS: stopTimeoutS
    process: process
    keys: keys
  }
  dependsOn: [
    serviceBus
    eventHubs
  ]
}]

output vault string = vault.outputs.name
