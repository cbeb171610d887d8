// One topic for a fleet, and on it a subscription per agent that lets pass what is for this agent, or for everyone in its hive.
//
// As hive_mind/bus/servicebus makes them where it may: a subscription is called <hive>.<node>, messages say in their property
// `target` either that name or <hive>.*. Apps may not make their own, so they need no right to manage.

param location string
param namespaceName string
param topicName string
param subscriptions string[]

resource namespace 'Microsoft.ServiceBus/namespaces@2022-10-01-preview' = {
  name: namespaceName
  location: location
  sku: {
    // Topics begin here.
    name: 'Standard'
    tier: 'Standard'
  }
  properties: {
    disableLocalAuth: true
    minimumTlsVersion: '1.2'
  }
}

resource topic 'Microsoft.ServiceBus/namespaces/topics@2022-10-01-preview' = {
  parent: namespace
  name: topicName
  properties: {
    // What was sent again after a broken connection is dropped before it is paid for.
    requiresDuplicateDetection: true
    duplicateDetectionHistoryTimeWindow: 'PT10M'
    enableBatchedOperations: true
    maxSizeInMegabytes: 5120
    supportOrdering: true
  }
}

resource subscription 'Microsoft.ServiceBus/namespaces/topics/subscriptions@2022-10-01-preview' = [for name in subscriptions: {
  parent: topic
  name: name
  properties: {
    lockDuration: 'PT5M'
    // Far more than a worker's own limit: what it puts aside says why.
    maxDeliveryCount: 100
    deadLetteringOnMessageExpiration: false
    enableBatchedOperations: true
  }
}]

// Under the name of the rule that lets everything pass, so that there is none such.
resource own 'Microsoft.ServiceBus/namespaces/topics/subscriptions/rules@2022-10-01-preview' = [for (name, at) in subscriptions: {
  parent: subscription[at]
  name: '$Default'
  properties: {
    filterType: 'CorrelationFilter'
    correlationFilter: {
      properties: {
        target: name
      }
    }
  }
}]

resource everyone 'Microsoft.ServiceBus/namespaces/topics/subscriptions/rules@2022-10-01-preview' = [for (name, at) in subscriptions: {
  parent: subscription[at]
  name: 'everyone'
  properties: {
    filterType: 'CorrelationFilter'
    correlationFilter: {
      properties: {
        target: '${split(name, '.')[0]}.*'
      }
    }
  }
  dependsOn: [
    own[at]
  ]
}]
