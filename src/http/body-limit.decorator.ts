import { SetMetadata } from '@nestjs/common'

/** Metadata key of a handler's body limit. */
export const BODY_LIMIT = 'quota:body-limit'

/** The default body limit of a handler, in bytes after decompression: 100 kB (contract, §2). */
export const DEFAULT_BODY_LIMIT = 100_000

/**
 * The body limit of a route without a body, in bytes: room for the empty object that some clients send with every
 * request.
 */
export const EMPTY_BODY_LIMIT = 1_000

/**
 * Sets a handler's body limit.
 * @param bytes maximum size after decompression
 */
export function BodyLimit(bytes: number): MethodDecorator {
  return SetMetadata(BODY_LIMIT, bytes)
}
