import { STATUS_CODES } from 'node:http'
import { type ArgumentsHost, Catch, type ExceptionFilter, HttpException, Injectable, Logger } from '@nestjs/common'
import type { Request, Response } from 'express'
import { ServiceError } from '../common/service-error.js'
import { answerProblem, sendProblem } from './problem-answer.js'

const UNEXPECTED = 'unexpected error; the log of the service has details under the request_id'

/**
 * The global filter: answers every error as problem+json. An `HttpException` keeps its status and message. Any other
 * error except `ServiceError` is answered without internal details.
 */
@Catch()
@Injectable()
export class ProblemFilter implements ExceptionFilter {
  private readonly logger = new Logger('Problem')

  catch(exception: unknown, host: ArgumentsHost): void {
    const http = host.switchToHttp()
    this.tell(exception, http.getRequest<Request>(), http.getResponse<Response>())
  }

  /** Answers a request with the error that was thrown while it was processed. */
  tell(exception: unknown, request: Request, response: Response): void {
    if (exception instanceof ServiceError) this.answer(exception, request, response)
    else if (exception instanceof HttpException) this.answerHttp(exception, request, response)
    else this.answer(new ServiceError('internal_error', UNEXPECTED, { cause: exception }), request, response)
  }

  private answerHttp(exception: HttpException, request: Request, response: Response): void {
    const status = exception.getStatus()
    const detail = exception.message
    // Nest throws it if a guard returns false.
    if (status === 403) return this.answer(new ServiceError('forbidden', detail), request, response)
    const title = STATUS_CODES[status] ?? 'Error'
    sendProblem({ type: 'about:blank', title, status, detail, request_id: request.requestId }, request, response)
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
