// One hub for a fleet: a partition per owner of a shard, a consumer group per app.
//
// hive_mind/bus/eventhubs deals names out over partitions by the number at their end, so owners that are counted have one each.
// A partition takes five readers per consumer group; with a group of its own no app can push another one out.

param location string
param namespaceName string
param hubName string

@allowed(['Standard', 'Premium'])
param skuName string

@minValue(1)
param partitions int

param consumerGroups string[]

resource namespace 'Microsoft.EventHub/namespaces@2024-01-01' = {
  name: namespaceName
  location: location
  sku: {
    name: skuName
    tier: skuName
    capacity: 1
  }
  properties: {
    disableLocalAuth: true
    minimumTlsVersion: '1.2'
  }
}

resource hub 'Microsoft.EventHub/namespaces/eventhubs@2024-01-01' = {
  parent: namespace
  name: hubName
  properties: {
    partitionCount: partitions
    retentionDescription: {
      cleanupPolicy: 'Delete'
      retentionTimeInHours: 24
    }
  }
}

@batchSize(1)
resource group 'Microsoft.EventHub/namespaces/eventhubs/consumergroups@2024-01-01' = [for name in consumerGroups: {
  parent: hub
  name: name
  properties: {}
}]
