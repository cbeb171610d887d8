// One process: an identity with the few rights it needs, and the app that runs it once.

import { Process, PublicKeys } from 'types.bicep'

param location string
param fleet string
param labels object
param image string
param registryName string
param vaultName string
param environmentName string

@description('Empty: its disk goes with its container.')
param shareStorageName string

param serviceBusNamespace string
param topicName string
param eventHubsNamespace string
param hubName string
param stopTimeoutS int
param process Process
param keys PublicKeys[]

var hasServiceBus = !empty(serviceBusNamespace)
var hasEventHubs = !empty(eventHubsNamespace)
var hasRegistry = !empty(registryName)
var isPersistent = !empty(shareStorageName)
var configSecret = 'worker-config'
var publicSecret = 'public-key'
var home = '/var/lib/hive-mind'

// Names of built-in roles are the same everywhere.
var roles = {
  acrPull: subscriptionResourceId('Microsoft.Authorization/roleDefinitions', '7f951dda-4ed3-4680-a7ca-43fe172d538d')
  eventHubsReceiver: subscriptionResourceId('Microsoft.Authorization/roleDefinitions', 'a638d3c7-ab3a-418d-83e6-5f17a39d4fde')
  eventHubsSender: subscriptionResourceId('Microsoft.Authorization/roleDefinitions', '2b629674-e913-4c01-ae53-ef4638d8f975')
  secretsUser: subscriptionResourceId('Microsoft.Authorization/roleDefinitions', '4633458b-17de-408a-b874-0445c86b69e6')
  serviceBusReceiver: subscriptionResourceId('Microsoft.Authorization/roleDefinitions', '4f6d3b9b-027b-4f4c-9142-0e5a2a2247e0')
  serviceBusSender: subscriptionResourceId('Microsoft.Authorization/roleDefinitions', '69a216fc-b8fb-44d8-bc22-1f3c2cd27a39')
}

var ownKey = empty(process.key) ? [] : [process.key]
var vaultSecrets = union(map(process.secrets, one => one.secret), map(process.files, one => one.secret), ownKey)

resource identity 'Microsoft.ManagedIdentity/userAssignedIdentities@2023-01-31' = {
  name: process.app
  location: location
}

// ── what it may ─────────────────────────────────────────────────────────────────────────────────────────────────────

resource vault 'Microsoft.KeyVault/vaults@2023-07-01' existing = {
  name: vaultName
}

resource secret 'Microsoft.KeyVault/vaults/secrets@2023-07-01' existing = [for name in vaultSecrets: {
  parent: vault
  name: name
}]

resource readsSecret 'Microsoft.Authorization/roleAssignments@2022-04-01' = [for (name, at) in vaultSecrets: {
  scope: secret[at]
  name: guid(vault.id, name, identity.id, roles.secretsUser)
  properties: {
    roleDefinitionId: roles.secretsUser
    principalId: identity.properties.principalId
    principalType: 'ServicePrincipal'
  }
}]

resource namespace 'Microsoft.ServiceBus/namespaces@2022-10-01-preview' existing = {
  name: hasServiceBus ? serviceBusNamespace : 'none'
}

resource topic 'Microsoft.ServiceBus/namespaces/topics@2022-10-01-preview' existing = {
  parent: namespace
  name: topicName
}

resource subscription 'Microsoft.ServiceBus/namespaces/topics/subscriptions@2022-10-01-preview' existing = [for name in process.subscriptions: {
  parent: topic
  name: name
}]

resource sends 'Microsoft.Authorization/roleAssignments@2022-04-01' = if (hasServiceBus) {
  scope: topic
  name: guid(topic.id, identity.id, roles.serviceBusSender)
  properties: {
    roleDefinitionId: roles.serviceBusSender
    principalId: identity.properties.principalId
    principalType: 'ServicePrincipal'
  }
}

// Its own subscriptions: nobody reads what is for others.
resource receives 'Microsoft.Authorization/roleAssignments@2022-04-01' = [for (name, at) in process.subscriptions: if (hasServiceBus) {
  scope: subscription[at]
  name: guid(topic.id, name, identity.id, roles.serviceBusReceiver)
  properties: {
    roleDefinitionId: roles.serviceBusReceiver
    principalId: identity.properties.principalId
    principalType: 'ServicePrincipal'
  }
}]

resource hubNamespace 'Microsoft.EventHub/namespaces@2024-01-01' existing = {
  name: hasEventHubs ? eventHubsNamespace : 'none'
}

resource hub 'Microsoft.EventHub/namespaces/eventhubs@2024-01-01' existing = {
  parent: hubNamespace
  name: hubName
}

resource publishes 'Microsoft.Authorization/roleAssignments@2022-04-01' = if (hasEventHubs) {
  scope: hub
  name: guid(hub.id, identity.id, roles.eventHubsSender)
  properties: {
    roleDefinitionId: roles.eventHubsSender
    principalId: identity.properties.principalId
    principalType: 'ServicePrincipal'
  }
}

// Of the hub and not of its consumer group: asking how many partitions there are needs it.
resource consumes 'Microsoft.Authorization/roleAssignments@2022-04-01' = if (hasEventHubs) {
  scope: hub
  name: guid(hub.id, identity.id, roles.eventHubsReceiver)
  properties: {
    roleDefinitionId: roles.eventHubsReceiver
    principalId: identity.properties.principalId
    principalType: 'ServicePrincipal'
  }
}

resource registry 'Microsoft.ContainerRegistry/registries@2023-07-01' existing = {
  name: hasRegistry ? registryName : 'none0'
}

resource pulls 'Microsoft.Authorization/roleAssignments@2022-04-01' = if (hasRegistry) {
  scope: registry
  name: guid(registry.id, identity.id, roles.acrPull)
  properties: {
    roleDefinitionId: roles.acrPull
    principalId: identity.properties.principalId
    principalType: 'ServicePrincipal'
  }
}

// ── what it is ──────────────────────────────────────────────────────────────────────────────────────────────────────

resource environment 'Microsoft.App/managedEnvironments@2026-01-01' existing = {
  name: environmentName
}

resource app 'Microsoft.App/containerApps@2026-01-01' = {
  name: process.app
  location: location
  tags: union(labels, {
    'hive-mind-fleet': fleet
  })
  identity: {
    type: 'UserAssigned'
    userAssignedIdentities: {
      '${identity.id}': {}
    }
  }
  properties: {
    environmentId: environment.id
    workloadProfileName: 'Consumption'
    configuration: {
      activeRevisionsMode: 'Single'
      // No ingress: agents talk over the bus.
      registries: hasRegistry ? [
        {
          server: '${registryName}${az.environment().suffixes.acrLoginServer}'
          identity: identity.id
        }
      ] : []
      secrets: concat([
        {
          // Not secret, but this is how a file gets into a container.
          name: configSecret
          value: process.config
        }
      ], map(keys, (one, at) => {
        name: '${publicSecret}-${at}'
        value: one.text
      }), map(vaultSecrets, name => {
        name: toLower(name)
        keyVaultUrl: '${vault.properties.vaultUri}secrets/${name}'
        identity: identity.id
      }))
    }
    template: {
      terminationGracePeriodSeconds: min(stopTimeoutS + 10, 600)
      initContainers: isPersistent ? [
        {
          // The root of the share belongs to root.
          name: 'folder'
          image: 'mcr.microsoft.com/azurelinux/busybox:1.36'
          command: ['/bin/sh', '-c']
          args: ['mkdir -p /share/${process.app} && chown 10001:10001 /share/${process.app} && chmod 0700 /share/${process.app}']
          resources: {
            cpu: json('0.25')
            memory: '0.5Gi'
          }
          volumeMounts: [
            {
              volumeName: 'home'
              mountPath: '/share'
            }
          ]
        }
      ] : []
      containers: [
        {
          name: 'worker'
          image: image
          args: ['agent', '--config', '/etc/hive-mind/worker.json']
          env: concat([
            {
              // Which of an app's identities to sign in as.
              name: 'AZURE_CLIENT_ID'
              value: identity.properties.clientId
            }
          ], map(process.variables, one => {
            name: one.name
            value: one.value
          }), map(process.secrets, one => {
            name: one.variable
            secretRef: toLower(one.secret)
          }))
          resources: {
            cpu: json(process.cpu)
            memory: process.memory
          }
          probes: [
            {
              type: 'Startup'
              httpGet: {
                path: '/healthz'
                port: 8080
              }
              // Ten failures are the most there can be: five minutes to wake.
              periodSeconds: 30
              failureThreshold: 10
            }
            {
              type: 'Liveness'
              httpGet: {
                path: '/healthz'
                port: 8080
              }
              periodSeconds: 10
              failureThreshold: 6
              timeoutSeconds: 5
            }
            {
              type: 'Readiness'
              httpGet: {
                path: '/readyz'
                port: 8080
              }
              periodSeconds: 10
              failureThreshold: 3
              timeoutSeconds: 5
            }
          ]
          volumeMounts: concat([
            isPersistent ? {
              volumeName: 'home'
              mountPath: home
              subPath: process.app
            } : {
              volumeName: 'home'
              mountPath: home
            }
            {
              volumeName: 'config'
              mountPath: '/etc/hive-mind'
            }
          ], empty(process.files) ? [] : [
            {
              volumeName: 'files'
              mountPath: '/etc/hive-mind-files'
            }
          ], empty(ownKey) ? [] : [
            {
              volumeName: 'keys'
              mountPath: '/etc/hive-mind-keys'
            }
            {
              volumeName: 'key'
              mountPath: '/etc/hive-mind-key'
            }
          ])
        }
      ]
      // An agent runs once: its database has one writer.
      scale: {
        minReplicas: 1
        maxReplicas: 1
      }
      volumes: concat([
        isPersistent ? {
          name: 'home'
          storageType: 'NfsAzureFile'
          storageName: shareStorageName
        } : {
          name: 'home'
          storageType: 'EmptyDir'
        }
        {
          name: 'config'
          storageType: 'Secret'
          secrets: [
            {
              secretRef: configSecret
              path: 'worker.json'
            }
          ]
        }
      ], empty(process.files) ? [] : [
        {
          name: 'files'
          storageType: 'Secret'
          secrets: map(process.files, one => {
            secretRef: toLower(one.secret)
            path: one.file
          })
        }
      ], empty(ownKey) ? [] : [
        {
          name: 'keys'
          storageType: 'Secret'
          secrets: map(keys, (one, at) => {
            secretRef: '${publicSecret}-${at}'
            path: one.file
          })
        }
        {
          name: 'key'
          storageType: 'Secret'
          secrets: [
            {
              secretRef: toLower(process.key)
              path: 'key'
            }
          ]
        }
      ])
    }
  }
  dependsOn: [
    readsSecret
    sends
    receives
    publishes
    consumes
    pulls
  ]
}
