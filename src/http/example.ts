/** The example of every UUIDv7 in the API document. */
export const EXAMPLE_UUID = '01939f3e-5c00-7a6b-8c1d-2e3f4a5b6c7d'
