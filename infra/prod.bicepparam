using 'main.bicep'

param name = 'cronlease'
param regions = [
  'northeurope'
  'swedencentral'
]
param coordinationRedundancy = 'Standard_GZRS'
param jobContainers = ['samples']
param alertEmails = ['oncall@example.com']
