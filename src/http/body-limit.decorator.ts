import { SetMetadata } from '@nestjs/common'

/** Metadata key of a handler's own limit. */
export const BODY_LIMIT = 'quota:body-limit'

/** Bytes of body after decompression that a handler takes where it says nothing: 100 kB (contract, §2). */
export const DEFAULT_BODY_LIMIT = 100_000

/**
 * Bytes of body that are read on a route that takes none: room for the empty object that some clients send with every
 * request.
 */
export const EMPTY_BODY_LIMIT = 1_000

/**
 * Sets how large a handler's body may be.
 * @param bytes after decompression, at most
 */
export function BodyLimit(bytes: number): MethodDecorator {
  return SetMetadata(BODY_LIMIT, bytes)
}
