using 'main.bicep'

param name = 'cronlease'
param regions = [
  'northeurope'
  'swedencentral'
]
param coordinationRedundancy = 'Standard_GZRS'
// Nobody gets alerts by mail until this has addresses.
param alertEmails = []
