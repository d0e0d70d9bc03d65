/** Where `class-transformer` keeps what its decorators declare; mapped types of Nest read it there, too. */
declare module 'class-transformer/cjs/storage.js' {
  export { defaultMetadataStorage } from 'class-transformer/types/storage.js'
}
