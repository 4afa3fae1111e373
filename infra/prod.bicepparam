using 'main.bicep'

param name = 'cronlease'
param regions = [
  'northeurope'
  'swedencentral'
]
param coordinationRedundancy = 'Standard_GZRS'
param jobContainers = ['samples']
// Nobody gets alerts by mail until this has addresses.
param alertEmails = []
