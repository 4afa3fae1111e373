using 'main.bicep'

param name = 'cronlease'
param regions = [
  'northeurope'
  'swedencentral'
]
param coordinationRedundancy = 'Standard_GZRS'
param jobContainers = ['samples']
// Whom alerts are mailed to: nobody yet.
param alertEmails = []
