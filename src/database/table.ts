import { Entity } from 'typeorm'

/** An entity class. */
export type EntityClass<T> = new () => T

/**
 * The entity of a table, whose columns and indexes an abstract row class declares.
 * @param name of the table; the class has the same one
 */
export function tableOf<T extends object>(name: string, row: abstract new () => T): EntityClass<T> {
  const Row = row as unknown as EntityClass<object>
  const table = { [name]: class extends Row {} }[name] as EntityClass<T>
  Entity(name)(table)
  return table
}
