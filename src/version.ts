/** Of package.json, which the one file that is deployed has not beside it; a test compares the two. */
export const VERSION = '0.1.0';
