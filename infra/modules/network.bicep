// One deployment's network, the only way to its storage. Each deployment has its own endpoints and DNS zones, for the
// coordination account too, so that none needs another's network.

@description('Part of every name.')
param name string

@description('The deployment.')
param deploymentName string

@description('Its region.')
param location string

@description('A /24.')
param addressPrefix string

@description('The address ranges of people who call storage, in networks that are connected to this one.')
param operatorRanges string[]

@description('A subnet that exists, for the app. Empty: a network is created.')
param subnetId string

@description('With subnetId: a subnet that exists, for the endpoints. Empty: there are none.')
param endpointSubnetId string

@description('The app\'s host account.')
param hostAccountId string

@description('The coordination account.')
param coordinationAccountId string

@description('The further coordination accounts.')
param furtherAccountIds string[]

@description('The account of the second place of audit entries, if there is one.')
param auditAccountIds string[]

@description('Tags for every resource.')
param tags { *: string }

var appRange = cidrSubnet(addressPrefix, 26, 0)
var endpointRange = cidrSubnet(addressPrefix, 26, 1)
var services = ['blob', 'queue', 'table']
var targets = [
  { name: 'coordination', accountId: coordinationAccountId, service: 'blob' }
  { name: 'host-blob', accountId: hostAccountId, service: 'blob' }
  { name: 'host-queue', accountId: hostAccountId, service: 'queue' }
  { name: 'host-table', accountId: hostAccountId, service: 'table' }
]

var furtherTargets = map(range(0, length(furtherAccountIds)), i => {
  name: 'coordination-${i + 2}'
  accountId: furtherAccountIds[i]
  service: 'blob'
})
var auditTargets = map(auditAccountIds, id => { name: 'audit', accountId: id, service: 'blob' })
var isOwn = empty(subnetId)
var allTargets = isOwn || !empty(endpointSubnetId) ? concat(targets, furtherTargets, auditTargets) : []

resource endpointRules 'Microsoft.Network/networkSecurityGroups@2025-05-01' = if (isOwn) {
  name: 'nsg-${name}-${deploymentName}-endpoints'
  location: location
  tags: tags
  properties: {
    securityRules: [
      {
        name: 'app-to-storage'
        properties: {
          description: 'The app calls storage over HTTPS, and so do people in operatorRanges.'
          direction: 'Inbound'
          access: 'Allow'
          priority: 100
          protocol: 'Tcp'
          sourceAddressPrefixes: concat([appRange], operatorRanges)
          sourcePortRange: '*'
          destinationAddressPrefix: endpointRange
          destinationPortRange: '443'
        }
      }
      {
        name: 'nothing-else'
        properties: {
          description: 'No other caller reaches storage, not even from a peered network.'
          direction: 'Inbound'
          access: 'Deny'
          priority: 4096
          protocol: '*'
          sourceAddressPrefix: '*'
          sourcePortRange: '*'
          destinationAddressPrefix: '*'
          destinationPortRange: '*'
        }
      }
    ]
  }
}

// Azure's own rules: nothing comes in from outside the network.
resource appRules 'Microsoft.Network/networkSecurityGroups@2025-05-01' = if (isOwn) {
  name: 'nsg-${name}-${deploymentName}-app'
  location: location
  tags: tags
}

resource network 'Microsoft.Network/virtualNetworks@2025-05-01' = if (isOwn) {
  name: 'vnet-${name}-${deploymentName}'
  location: location
  tags: tags
  properties: {
    addressSpace: {
      addressPrefixes: [addressPrefix]
    }
    subnets: [
      {
        name: 'app'
        properties: {
          addressPrefix: appRange
          networkSecurityGroup: {
            id: appRules.id
          }
          delegations: [
            {
              name: 'flex-consumption'
              properties: {
                serviceName: 'Microsoft.App/environments'
              }
            }
          ]
        }
      }
      {
        name: 'endpoints'
        properties: {
          addressPrefix: endpointRange
          defaultOutboundAccess: false
          // Without this setting, the rules would not apply to private endpoints.
          privateEndpointNetworkPolicies: 'NetworkSecurityGroupEnabled'
          networkSecurityGroup: {
            id: endpointRules.id
          }
        }
      }
    ]
  }

  resource appSubnet 'subnets' existing = {
    name: 'app'
  }

  resource endpointSubnet 'subnets' existing = {
    name: 'endpoints'
  }
}

resource zones 'Microsoft.Network/privateDnsZones@2024-06-01' = [
  for service in isOwn ? services : []: {
    name: 'privatelink.${service}.${environment().suffixes.storage}'
    location: 'global'
    tags: tags
  }
]

resource zoneLinks 'Microsoft.Network/privateDnsZones/virtualNetworkLinks@2024-06-01' = [
  for (service, i) in isOwn ? services : []: {
    parent: zones[i]
    name: network.name
    location: 'global'
    tags: tags
    properties: {
      registrationEnabled: false
      virtualNetwork: {
        id: network.id
      }
    }
  }
]

// One after another: an account accepts one change of its endpoints at a time.
@batchSize(1)
resource endpoints 'Microsoft.Network/privateEndpoints@2025-05-01' = [
  for target in allTargets: {
    name: 'pe-${name}-${deploymentName}-${target.name}'
    location: location
    tags: tags
    properties: {
      subnet: {
        id: isOwn ? network::endpointSubnet.id : endpointSubnetId
      }
      privateLinkServiceConnections: [
        {
          name: target.name
          properties: {
            privateLinkServiceId: target.accountId
            groupIds: [target.service]
          }
        }
      ]
    }
  }
]

resource endpointZones 'Microsoft.Network/privateEndpoints/privateDnsZoneGroups@2025-05-01' = [
  for (target, i) in isOwn ? allTargets : []: {
    parent: endpoints[i]
    name: 'default'
    properties: {
      privateDnsZoneConfigs: [
        {
          name: target.service
          properties: {
            privateDnsZoneId: zones[indexOf(services, target.service)].id
          }
        }
      ]
    }
  }
]

@description('The subnet for the app.')
output appSubnetId string = isOwn ? network::appSubnet.id : subnetId
