import { applyDecorators, createParamDecorator, type ExecutionContext, SetMetadata } from '@nestjs/common'
import { ApiBody, ApiConsumes } from '@nestjs/swagger'
import type { Request } from 'express'
import type { BodyStream, StreamedBody } from './body-stream.js'

/** Metadata key of a handler that reads its body as a stream. */
export const STREAMED_BODY = 'quota:streamed-body'

/** Marks a handler that reads its body as a stream, of the given media type and maximum size. */
export function StreamsBody(body: StreamedBody): MethodDecorator {
  return applyDecorators(
    SetMetadata(STREAMED_BODY, body),
    ApiConsumes(body.mediaType),
    ApiBody({ schema: { type: 'string' }, required: true }),
  )
}

/** Injects the stream of a handler with `StreamsBody`. */
export const StreamedBodyParam = createParamDecorator(
  (_data: unknown, context: ExecutionContext): BodyStream =>
    context.switchToHttp().getRequest<Request>().body as BodyStream,
)
