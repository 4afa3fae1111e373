/** The version of package.json, which is not deployed beside the app's one file. A test compares the two. */
export const VERSION = '0.1.0';
