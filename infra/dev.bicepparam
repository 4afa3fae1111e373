using 'main.bicep'

param name = 'clsdev'
param regions = [
  'northeurope'
]
param deleteLock = false
param jobContainers = ['samples']
param instanceMemoryMB = 512
