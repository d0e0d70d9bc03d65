import type { FieldError } from '../common/service-error.js'
import { DEFAULT_PAGE_SIZE, IdField, IntegerField, PageSizeField } from './field.decorator.js'

/** The last row that a page may reach; `before_id` pages beyond it (contract, §2). */
const MAX_ROW = 100_000

/** The requested page. */
export class PageQuery {
  /** Number of the page, from 1. */
  @IntegerField({ optional: true, min: 1, max: Number.MAX_SAFE_INTEGER, default: 1, example: 1 })
  page?: number

  /** Number of rows on the page. */
  @PageSizeField()
  page_size?: number

  /** Refuses pages that reach beyond `MAX_ROW`. */
  violations(): FieldError[] {
    const { page, page_size: pageSize = DEFAULT_PAGE_SIZE } = this
    // The rules of the fields refuse other types.
    if (typeof page !== 'number' || typeof pageSize !== 'number' || page * pageSize <= MAX_ROW) return []
    return [{ field: 'page', message: `reaches beyond row ${MAX_ROW}${this.hintBeyond()}` }]
  }

  /** How to read rows beyond the limit. */
  protected hintBeyond(): string {
    return ', the last one that pages reach'
  }
}

/** The requested page, by its number or by the row after which it begins. */
export class CursorPageQuery extends PageQuery {
  /** Returns only rows with a smaller id. Pages through a list of any length. Cannot be combined with `page`. */
  @IdField({ optional: true, example: 4711 })
  before_id?: number

  /** Refuses `before_id` together with `page`. */
  override violations(): FieldError[] {
    const both = this.before_id !== undefined && this.page !== undefined
    const walking = both ? [{ field: 'before_id', message: 'may not be combined with page' }] : []
    return [...super.violations(), ...walking]
  }

  protected override hintBeyond(): string {
    return '; continue with before_id, the smallest id of the previous page'
  }
}

/** The position of a page in its list. */
export interface Paging {
  /** From 1. */
  readonly page: number
  /** 1 … 100. */
  readonly pageSize: number
  /** Only rows with a smaller id. */
  readonly beforeId?: number
}

/** Returns the position of the page from a valid query. */
export function pagingOf(query: PageQuery | CursorPageQuery): Paging {
  const { page = 1, page_size: pageSize = DEFAULT_PAGE_SIZE, before_id: beforeId }: Partial<CursorPageQuery> = query
  return beforeId === undefined ? { page, pageSize } : { page, pageSize, beforeId }
}
