import type { FieldError } from '../error/service-error.js'
import { DEFAULT_PAGE_SIZE, IdField, IntegerField, PageSizeField } from './field.decorator.js'

/** How deep a page may reach into a list, in rows; what lies beyond is walked with `before_id` (contract, §2). */
export const MAX_ROW = 100_000

/** The page that a request asks for. */
export class PageQuery {
  /** Page of the list, from 1. */
  @IntegerField({ optional: true, min: 1, max: Number.MAX_SAFE_INTEGER, default: 1, example: 1 })
  page?: number

  /** Rows on a page. */
  @PageSizeField()
  page_size?: number

  /** How deep a page may reach. Asked by the pipe. */
  violations(): FieldError[] {
    const { page, page_size: pageSize = DEFAULT_PAGE_SIZE } = this
    // What is no number has been refused as such.
    if (typeof page !== 'number' || typeof pageSize !== 'number' || page * pageSize <= MAX_ROW) return []
    return [{ field: 'page', message: `reaches beyond row ${MAX_ROW}${this.hintBeyond()}` }]
  }

  /** What to do instead of asking for so deep a page. */
  protected hintBeyond(): string {
    return ', where pages end'
  }
}

/** A page that may also be asked for by the row after which it begins. */
export class CursorPageQuery extends PageQuery {
  /** Only rows with a smaller id: the way to walk a list of any length. Not together with `page`. */
  @IdField({ optional: true, example: 4711 })
  before_id?: number

  /** The two ways to move through a list exclude each other. Asked by the pipe. */
  override violations(): FieldError[] {
    const both = this.before_id !== undefined && this.page !== undefined
    const walking = both
      ? [{ field: 'before_id', message: 'may not be combined with page; page_size alone goes with it' }]
      : []
    return [...super.violations(), ...walking]
  }

  protected override hintBeyond(): string {
    return '; walk on with before_id, the smallest id of the page before'
  }
}

/** A page's place in its list. */
export interface Paging {
  /** From 1. */
  readonly page: number
  /** 1 … 100. */
  readonly pageSize: number
  /** Rows with a smaller id only. */
  readonly beforeId?: number
}

/** Reads a page's place from a valid query. */
export function pagingOf(query: PageQuery | CursorPageQuery): Paging {
  const { page = 1, page_size: pageSize = DEFAULT_PAGE_SIZE } = query
  const beforeId = 'before_id' in query ? query.before_id : undefined
  return beforeId === undefined ? { page, pageSize } : { page, pageSize, beforeId }
}
