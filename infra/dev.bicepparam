using 'main.bicep'

param name = 'clsdev'
param regions = [
  'northeurope'
]
param deleteLock = false
param instanceMemoryMB = 512
