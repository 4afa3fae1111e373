type StorageSettingsProblem =
  | 'StorageNotSet'
  | 'StorageSetTwice'
  | 'ConnectionStringInvalid'
  | 'StorageInsecure'
  | 'ServiceUriInvalid'
  | 'CredentialUnknown'
  | 'ContainerNameInvalid';

/** The settings do not name a usable storage. The message names the setting and never shows a key. */
export class StorageSettingsError extends Error {
  override readonly name = 'StorageSettingsError';

  constructor(
    readonly code: StorageSettingsProblem,
    message: string,
  ) {
    super(message);
  }

  /** The same, of a connection that has another name. */
  of(connection: string): StorageSettingsError {
    return new StorageSettingsError(this.code, this.message.replaceAll('CRONLEASE_STORAGE', connection));
  }
}
