import {
  type ArgumentsHost,
  Catch,
  type ExceptionFilter,
  HttpException,
  Injectable,
  Logger,
  NotFoundException,
} from '@nestjs/common'
import type { Request, Response } from 'express'
import { admits } from '../auth/access-rule.js'
import { Authenticator } from '../auth/authenticator.js'
import { ServiceError, validationFailed } from '../error/service-error.js'
import { answerProblem } from './problem-answer.js'
import { RouteTable } from './route-table.js'

/** The one global filter: every error leaves as problem+json, and what is no `ServiceError` tells nothing of the inside. */
@Catch()
@Injectable()
export class ProblemFilter implements ExceptionFilter {
  private readonly logger = new Logger('Problem')

  constructor(
    private readonly authenticator: Authenticator,
    private readonly routes: RouteTable,
  ) {}

  catch(exception: unknown, host: ArgumentsHost): void {
    const http = host.switchToHttp()
    const request = http.getRequest<Request>()
    const response = http.getResponse<Response>()
    if (exception instanceof ServiceError) {
      this.answer(exception, request, response)
      return
    }
    void this.explain(exception, request).then(
      (error) => this.answer(error, request, response),
      (error: unknown) => this.answer(failure(error), request, response),
    )
  }

  /** What the framework threw, in the contract's words. Where no guard has run, nobody learns anything before they are known. */
  private async explain(exception: unknown, request: Request): Promise<ServiceError> {
    if (!(exception instanceof HttpException) || exception.getStatus() >= 500) return failure(exception)
    if (request.principal === undefined) {
      try {
        request.principal = await this.authenticator.authenticate(request.headers, request.rawHeaders)
      } catch (error) {
        if (error instanceof ServiceError) return error
        throw error
      }
    }
    if (exception instanceof NotFoundException) return this.routes.refusal(request.path)
    if (exception.cause instanceof URIError) {
      // Express meets this before any guard has run: what the guards would have said comes first.
      const route = this.routes.at(request.method, request.path)
      if (route === undefined) return this.routes.refusal(request.path)
      if (!admits(route.access, request.principal.role)) {
        return new ServiceError('forbidden', 'this needs a token with another role')
      }
      return validationFailed([{ field: 'path', message: 'holds a percent sign that encodes nothing' }])
    }
    return failure(exception)
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
