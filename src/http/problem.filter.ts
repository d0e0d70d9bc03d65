import { type ArgumentsHost, Catch, type ExceptionFilter, Injectable, Logger } from '@nestjs/common'
import type { Request, Response } from 'express'
import { ServiceError } from '../error/service-error.js'
import { answerProblem } from './problem-answer.js'

/**
 * The one global filter: every error leaves as problem+json, and what is no `ServiceError` tells nothing of the inside.
 */
@Catch()
@Injectable()
export class ProblemFilter implements ExceptionFilter {
  private readonly logger = new Logger('Problem')

  catch(exception: unknown, host: ArgumentsHost): void {
    const http = host.switchToHttp()
    this.tell(exception, http.getRequest<Request>(), http.getResponse<Response>())
  }

  /** Answers a request with what was thrown while it was worked. */
  tell(exception: unknown, request: Request, response: Response): void {
    this.answer(exception instanceof ServiceError ? exception : failure(exception), request, response)
  }

  private answer(error: ServiceError, request: Request, response: Response): void {
    if (error.code === 'internal_error') {
      const { path } = (request.route ?? {}) as { path?: string }
      this.logger.error(
        new Error(`${request.method} ${path ?? 'unmatched'} failed, request ${request.requestId}`, {
          cause: error.cause ?? error,
        }),
      )
    }
    answerProblem(error, request, response)
  }
}

function failure(exception: unknown): ServiceError {
  return new ServiceError('internal_error', 'this should not have happened; the log tells of it under the request_id', {
    cause: exception,
  })
}
