variable "name" {
  description = "Part of every name. Lowercase letters and digits, beginning with a letter."
  type        = string
  default     = "cronlease"

  validation {
    condition     = can(regex("^[a-z][a-z0-9]{2,8}$", var.name))
    error_message = "name must have 3 to 9 lowercase letters and digits, and begin with a letter."
  }
}

variable "deployments" {
  description = "The apps, each with its region and its place in the address space. subnet_id: a subnet that exists, delegated to Microsoft.App/environments."
  type = map(object({
    region    = string
    network   = optional(number, 0)
    subnet_id = optional(string)
  }))

  validation {
    condition     = length(var.deployments) > 0 && alltrue([for name, _ in var.deployments : can(regex("^[a-z0-9]{1,20}$", name))])
    error_message = "deployments must have one or more apps, each named by 1 to 20 lowercase letters and digits."
  }

  validation {
    condition     = !var.private_network || length(distinct([for _, app in var.deployments : app.network])) == length(var.deployments)
    error_message = "With private_network, each deployment must have a network number of its own."
  }
}

variable "location" {
  description = "The region of the coordination account, the logs and the alerts."
  type        = string
}

variable "jobs_file" {
  description = "The path of jobs.json. The alerts and the lifecycle rule are made from it."
  type        = string
}

variable "coordination_replication" {
  description = "Redundancy of the coordination accounts: zones of one region (ZRS), or a copy in the paired region as well (GZRS)."
  type        = string
  default     = "ZRS"

  validation {
    condition     = contains(["ZRS", "GZRS"], var.coordination_replication)
    error_message = "coordination_replication must be ZRS or GZRS."
  }
}

variable "coordination_accounts" {
  description = "How many coordination accounts there are. Never lower it before \"cronlease shards\" has moved the jobs."
  type        = number
  default     = 1

  validation {
    condition     = var.coordination_accounts >= 1 && var.coordination_accounts <= 8
    error_message = "coordination_accounts must be 1 to 8."
  }
}

variable "delete_lock" {
  description = "Locks each coordination account, so that it cannot be deleted before the lock."
  type        = bool
  default     = true
}

variable "audit_days" {
  description = "For how many days an audit entry can be neither changed nor deleted, in an account of its own. 0: there is no such account."
  type        = number
  default     = 0
}

variable "job_containers" {
  description = "Containers in the coordination account that the jobs write to."
  type        = list(string)
  default     = []
}

variable "instance_memory_mb" {
  description = "Memory of an instance: 512, 2048 or 4096."
  type        = number
  default     = 2048
}

variable "zone_redundant" {
  description = "Spreads the instances and the host account of each app over zones."
  type        = bool
  default     = false
}

variable "always_ready" {
  description = "How many instances of each app are always ready to take runs. With 0, the first run after a pause waits for an instance to start."
  type        = number
  default     = 0
}

variable "maximum_instance_count" {
  description = "The most instances of each app, beside those that are always ready."
  type        = number
  default     = 40
}

variable "app_settings" {
  description = "Further app settings of each app, for the jobs: values, or references to a key vault for secrets, because the state shows the values. They win over those of the module."
  type        = map(string)
  default     = {}
}

variable "environment_name" {
  description = "The name of the environment, such as production, which the dashboard shows."
  type        = string
  default     = ""
}

variable "auth_client_id" {
  description = "Client id of the Entra application for the API. Empty: the API is closed to everybody."
  type        = string
  default     = ""
}

variable "api_keys" {
  description = "Keys of machines for the API, each NAME:ROLE:SHA256. They are no secrets."
  type        = list(string)
  default     = []
}

variable "operator_groups" {
  description = "Object ids of Entra groups whose members may use the cronlease command."
  type        = set(string)
  default     = []
}

variable "viewers" {
  description = "Object ids of Entra groups, and of identities of pipelines, that may read the coordination container, with their type."
  type        = map(string)
  default     = {}
}

variable "log_workspace_id" {
  description = "A Log Analytics workspace that exists, for the logs of the apps. Empty: one is created."
  type        = string
  default     = ""
}

variable "daily_quota_gb" {
  description = "Daily log quota of the created workspace, in GB."
  type        = number
  default     = 5
}

variable "telemetry" {
  description = "Whether metrics and traces of the jobs go to Application Insights (auto), or none (off). They are billed as logs: about 16 KB a run."
  type        = string
  default     = "off"

  validation {
    condition     = contains(["auto", "off"], var.telemetry)
    error_message = "telemetry must be auto or off."
  }
}

variable "log_writes" {
  description = "Logs each write to the coordination accounts with its identity, about 4 KB a run. Writes to the audit account are always logged."
  type        = bool
  default     = false
}

variable "log_host_writes" {
  description = "Logs each write to the host accounts with its identity, about 15 KB a run."
  type        = bool
  default     = false
}

variable "writes_quota_gb" {
  description = "The most logs of writes a day, in GB, apart from those of the apps. -1: no limit."
  type        = number
  default     = -1
}

variable "availability_places" {
  description = "How many places call the health of each app, every 15 minutes. The alert needs a failure from more than half of them. With 0, only the logs show a dead app."
  type        = number
  default     = 2

  validation {
    condition     = var.availability_places >= 0 && var.availability_places <= 5
    error_message = "availability_places must be 0 to 5."
  }
}

variable "alert_emails" {
  description = "The addresses to which alerts are mailed."
  type        = set(string)
  default     = []
}

variable "action_group_ids" {
  description = "Ids of action groups that exist. Alerts notify them too."
  type        = list(string)
  default     = []
}

variable "private_network" {
  description = "Storage is reached through private endpoints only; its public access is off."
  type        = bool
  default     = false
}

variable "address_space" {
  description = "Address range from which each app gets a /24. Used only with private_network."
  type        = string
  default     = "10.70.0.0/16"
}

variable "operator_ranges" {
  description = "The address ranges of people who use the cronlease command, in connected networks. Used only with private_network."
  type        = list(string)
  default     = []
}

variable "tags" {
  description = "Tags for every resource."
  type        = map(string)
  default     = {}
}
