output "app_names" {
  description = "The function app of each deployment."
  value       = local.app_names
}

output "app_groups" {
  description = "The resource group of each app."
  value       = { for name, group in azurerm_resource_group.deployment : name => group.name }
}

output "host_names" {
  description = "The host name of each app."
  value       = { for name, app in azapi_resource.app : name => app.output.properties.defaultHostName }
}

output "coordination_uri" {
  description = "The blob service of the coordination account, for CRONLEASE_STORAGE__blobServiceUri."
  value       = azurerm_storage_account.shared["coordination"].primary_blob_endpoint
}
