import { Entity } from 'typeorm'

/** An entity class. */
export type EntityClass<T> = new () => T

/**
 * Builds the entity of a table from an abstract row class that declares its columns and indexes.
 * @param name the table's name, and that of the class
 */
export function tableOf<T extends object>(name: string, row: abstract new () => T): EntityClass<T> {
  const Row = row as unknown as EntityClass<object>
  const table = { [name]: class extends Row {} }[name] as EntityClass<T>
  Entity(name)(table)
  return table
}
