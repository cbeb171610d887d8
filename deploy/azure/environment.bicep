// Where the apps run: a network of their own without a way in, a log, and a share for what has to outlive a container.
//
// The share is Azure Files over NFS. Over SMB it would need the account's key, and databases would lose the file locks that
// keep a second writer out. The log gets what the platform hands on by itself, which needs no key of the workspace either.

param location string
param fleet string
param isPersistent bool

@minValue(100)
param shareGb int

var suffix = uniqueString(resourceGroup().id, fleet)

resource workspace 'Microsoft.OperationalInsights/workspaces@2023-09-01' = {
  name: '${fleet}-log'
  location: location
  properties: {
    sku: {
      name: 'PerGB2018'
    }
    retentionInDays: 30
    features: {
      disableLocalAuth: true
    }
  }
}

resource network 'Microsoft.Network/virtualNetworks@2024-01-01' = {
  name: '${fleet}-network'
  location: location
  properties: {
    addressSpace: {
      addressPrefixes: ['10.20.0.0/16']
    }
    subnets: [
      {
        name: 'apps'
        properties: {
          addressPrefix: '10.20.0.0/23'
          delegations: [
            {
              name: 'container-apps'
              properties: {
                serviceName: 'Microsoft.App/environments'
              }
            }
          ]
          serviceEndpoints: [
            {
              service: 'Microsoft.Storage'
            }
          ]
        }
      }
    ]
  }
}

resource environment 'Microsoft.App/managedEnvironments@2026-01-01' = {
  name: '${fleet}-environment'
  location: location
  properties: {
    appLogsConfiguration: {
      destination: 'azure-monitor'
    }
    vnetConfiguration: {
      infrastructureSubnetId: network.properties.subnets[0].id
      internal: true
    }
    workloadProfiles: [
      {
        name: 'Consumption'
        workloadProfileType: 'Consumption'
      }
    ]
  }
}

resource log 'Microsoft.Insights/diagnosticSettings@2021-05-01-preview' = {
  scope: environment
  name: 'log'
  properties: {
    workspaceId: workspace.id
    logs: [
      {
        categoryGroup: 'allLogs'
        enabled: true
      }
    ]
  }
}

resource account 'Microsoft.Storage/storageAccounts@2023-05-01' = if (isPersistent) {
  name: 'hm${suffix}'
  location: location
  kind: 'FileStorage'
  sku: {
    name: 'Premium_LRS'
  }
  properties: {
    allowBlobPublicAccess: false
    allowSharedKeyAccess: false
    minimumTlsVersion: 'TLS1_2'
    // NFS is not HTTPS; it stays in the network below, and nobody else gets in.
    supportsHttpsTrafficOnly: false
    networkAcls: {
      defaultAction: 'Deny'
      bypass: 'None'
      virtualNetworkRules: [
        {
          id: network.properties.subnets[0].id
          action: 'Allow'
        }
      ]
    }
  }
}

resource files 'Microsoft.Storage/storageAccounts/fileServices@2023-05-01' = if (isPersistent) {
  parent: account
  name: 'default'
}

resource share 'Microsoft.Storage/storageAccounts/fileServices/shares@2023-05-01' = if (isPersistent) {
  parent: files
  name: 'hive-mind'
  properties: {
    enabledProtocols: 'NFS'
    // The step that makes an app's folder runs as root, the app does not.
    rootSquash: 'NoRootSquash'
    shareQuota: shareGb
  }
}

resource mounted 'Microsoft.App/managedEnvironments/storages@2026-01-01' = if (isPersistent) {
  parent: environment
  name: 'home'
  properties: {
    nfsAzureFile: {
      server: '${account.name}.file.${az.environment().suffixes.storage}'
      shareName: '/${account.name}/hive-mind'
      accessMode: 'ReadWrite'
    }
  }
  dependsOn: [
    share
  ]
}

output name string = environment.name
output shareStorageName string = isPersistent ? mounted.name : ''
