using 'main.bicep'

param name = 'clsdev'
param regions = [
  'northeurope'
]
param jobContainers = ['samples']
param instanceMemoryMB = 512
