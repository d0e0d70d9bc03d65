import { mkdtempSync, rmSync } from 'node:fs'
import { lookup } from 'node:dns/promises'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import Database from 'libsql'
import {
  adviceOnTls,
  failedForTls,
  type Fault,
  faultName,
  faultOf,
  isLockTimeout,
  leavesUnusable,
} from './store-error.js'

/** As TypeORM hands on what the driver threw. */
function wrapped(driverError: object): Error {
  return Object.assign(new Error('query failed'), { driverError })
}

function thrownBy(act: () => unknown): unknown {
  try {
    act()
  } catch (error) {
    return error
  }
  throw new Error('nothing was thrown')
}

describe('advice on TLS', () => {
  const failed = (message: string, more: object = {}) =>
    Object.assign(new Error(message), { code: 'HANDSHAKE_SSL_ERROR', fatal: true, ...more })

  it.each<[string, object, RegExp]>([
    ['without TLS where it is wanted', wrapped({ errno: 3159 }), /set DATABASE_TLS=verify/],
    ['without TLS to MariaDB', wrapped({ errno: 1045 }), /DATABASE_TLS is off/],
    ['where an account without a name comes first', wrapped({ errno: 1045 }), /DROP USER ''@localhost/],
    ['with TLS where there is none', { code: 'HANDSHAKE_NO_SSL_SUPPORT', fatal: true }, /DATABASE_TLS=off/],
    ['under another name', failed("Host: h. is not in the cert's altnames", { cert: {} }), /DATABASE_URL must name/],
    ['with a stranger', failed('self-signed certificate in certificate chain'), /DATABASE_TLS_CA/],
    ['with an old certificate', failed('certificate has expired'), /valid now/],
  ])('is given whoever connects %s', (_what, error, advice) => {
    expect(adviceOnTls(error)).toMatch(advice)
  })

  it('is not given if the fault may pass', () => {
    const stopped = failed('Client network socket disconnected before secure TLS connection was established')
    const others = [stopped, { code: 'ECONNREFUSED' }, { errno: 1040, code: 'ER_CON_COUNT_ERROR' }, undefined]
    expect(others.map((error) => adviceOnTls(error))).toEqual(others.map(() => undefined))
    // A password may yet be set.
    const all = [...others, { errno: 1045 }, failed('certificate has expired')]
    expect(all.map((error) => failedForTls(error))).toEqual([...others.map(() => false), false, true])
    expect(faultOf(stopped)).toBe('away')
  })
})

describe('a fault', () => {
  it.each<[Fault, string, number[]]>([
    ['duplicate', 'of a key', [1062]],
    ['conflict', 'with another transaction', [1205, 1213, 1020, 3572, 1412, 1689]],
    ['conflict', 'at COMMIT', [1180, 3100, 3101, 3797, 3798, 8002, 8005, 8022, 8027, 8028, 9004, 9006, 9007]],
    ['busy', 'of too many connections', [1040, 1129, 1135, 1203, 1226]],
    [
      'busy',
      'of an account that is not let in now',
      [1044, 1045, 1049, 1130, 1698, 1820, 1862, 3118, 3159, 3955, 4150, 4151],
    ],
    ['busy', 'of memory', [5, 1037, 1038, 1041, 1206, 3015, 3044, 3170, 3950, 3985, 8001]],
    ['busy', 'of the disk', [1, 3, 20, 23, 1021, 1026, 1030, 1114, 1878, 3019, 3675]],
    ['busy', 'that an engine calls temporary', [1223, 1296, 1297, 1637, 9002, 9003, 9005, 9008, 9010, 9011]],
    ['away', 'of a server that stops', [1053, 1077, 1079, 3032, 6400]],
    ['away', 'of a node outside its cluster', [1047, 3796, 3799, 9001]],
    ['away', 'of a server that takes no writes', [1290, 1792, 1836, 1874, 1881, 3989]],
    [
      'away',
      'of a connection that ended',
      [1152, 1158, 1159, 1160, 1161, 1184, 1927, 2006, 2013, 3169, 4031, 4081, 4082],
    ],
    ['away', 'of a statement that was ended', [1317, 1969, 3024]],
    ['away', 'of a proxy without a server', [1043, 2002, 2003, 2005, 2055]],
    ['broken', 'of the statement', [1054, 1064, 1146, 1153, 1364, 1406, 3819, 4025, 4166]],
  ])('is %s when it is one %s', (fault, _what, numbers) => {
    expect(numbers.filter((errno) => faultOf(wrapped({ errno, code: 'ER_ANY' })) !== fault)).toEqual([])
  })

  it.each<[Fault, string[]]>([
    [
      'away',
      ['ECONNREFUSED', 'ECONNRESET', 'EPIPE', 'ETIMEDOUT', 'EHOSTUNREACH', 'ENETUNREACH', 'ENETDOWN', 'EHOSTDOWN'],
    ],
    ['away', ['ENOTFOUND', 'EAI_AGAIN', 'EAI_FAIL']],
    ['away', ['PROTOCOL_CONNECTION_LOST', 'PROTOCOL_SEQUENCE_TIMEOUT', 'PROTOCOL_ENQUEUE_AFTER_FATAL_ERROR']],
    ['busy', ['EMFILE', 'ENFILE', 'EADDRNOTAVAIL', 'ENOBUFS']],
    ['broken', ['ERR_INVALID_ARG_TYPE', '']],
  ])('is %s by the codes %j', (fault, codes) => {
    expect(codes.filter((code) => faultOf({ code, errno: -1 }) !== fault)).toEqual([])
  })

  it('of the system is read from the code that the system returns', async () => {
    const refused = await new Promise<unknown>((resolve) => connect(1, '127.0.0.1').once('error', resolve))
    expect([faultOf(refused), faultName(refused)]).toEqual(['away', 'ECONNREFUSED'])
    const both = Object.assign(new AggregateError([refused, refused]), { code: 'ECONNREFUSED' })
    expect(faultOf(both)).toBe('away')
    const unknown: unknown = await lookup('no-such-host.invalid').catch((error: unknown) => error)
    expect(faultOf(unknown)).toBe('away')
  })

  it('of the pool is only a full queue', () => {
    expect(faultOf(new Error('Queue limit reached.'))).toBe('busy')
    expect(faultOf(new Error('Pool is closed.'))).toBe('away')
    expect(faultOf(new Error("Can't add new command when connection is in closed state"))).toBe('away')
  })

  it('that breaks the connection without an error number means an unavailable server; with one, the number decides', () => {
    expect(faultOf({ fatal: true, code: 'PROTOCOL_UNEXPECTED_PACKET' })).toBe('away')
    expect(faultOf({ fatal: true, errno: 1226, code: 'ER_USER_LIMIT_REACHED' })).toBe('busy')
    expect(faultOf({ fatal: true, errno: 1251, code: 'ER_NOT_SUPPORTED_AUTH_MODE' })).toBe('broken')
  })

  it('is named by its number, otherwise by its code', () => {
    expect(faultName(wrapped({ errno: 1226, code: 'ER_USER_LIMIT_REACHED' }))).toBe('1226')
    expect(faultName({ errno: -111, code: 'ECONNREFUSED' })).toBe('ECONNREFUSED')
    expect(faultName(new Error('?'))).toBe('unknown')
  })

  it('is a lock timeout only with 1205', () => {
    expect([1205, 1213, 3572].map((errno) => isLockTimeout(wrapped({ errno })))).toEqual([true, false, false])
  })

  it('makes a connection unusable if the server disconnects, an answer is outstanding, or COMMIT is unknown', () => {
    const unfit = [{ errno: 1180 }, { errno: 1153 }, { errno: 4031 }, { code: 'PROTOCOL_SEQUENCE_TIMEOUT' }]
    expect(unfit.map(leavesUnusable)).toEqual([true, true, true, true])
    const fit = [{ errno: 1205 }, { errno: 1213 }, { errno: 1062 }, { errno: 1114 }, { errno: 1064 }]
    expect(fit.map(leavesUnusable)).toEqual([false, false, false, false, false])
  })
})

describe('a fault of SQLite', () => {
  let directory: string
  let path: string

  beforeAll(() => {
    directory = mkdtempSync(join(tmpdir(), 'quota-fault-'))
    path = join(directory, 'store.db')
    const database = new Database(path)
    database.pragma('journal_mode = WAL')
    database.exec('CREATE TABLE t (id INTEGER PRIMARY KEY, u TEXT UNIQUE, c INTEGER CHECK (c >= 0), blob BLOB)')
    database.exec("INSERT INTO t VALUES (1, 'one', 0, NULL)")
    database.close()
  })

  afterAll(() => {
    rmSync(directory, { recursive: true, force: true })
  })

  const faults: Record<string, [Fault, (database: Database.Database) => unknown]> = {
    'a primary key': ['duplicate', (database) => database.exec("INSERT INTO t (id, u) VALUES (1, 'two')")],
    'a unique key': ['duplicate', (database) => database.exec("INSERT INTO t (id, u) VALUES (2, 'one')")],
    'a check': ['broken', (database) => database.exec('INSERT INTO t (id, c) VALUES (3, -1)')],
    'a missing table': ['broken', (database) => database.prepare('SELECT * FROM nothing').all()],
    'another writer': [
      'conflict',
      (database) => {
        const other = new Database(path)
        other.exec('BEGIN IMMEDIATE')
        try {
          return database.prepare('BEGIN IMMEDIATE').run()
        } finally {
          other.exec('ROLLBACK')
          other.close()
        }
      },
    ],
    'no room': [
      'away',
      (database) => {
        database.pragma('max_page_count = 1')
        return database.exec('INSERT INTO t (id, blob) VALUES (4, zeroblob(100000))')
      },
    ],
    'no writes': [
      'away',
      (database) => {
        database.pragma('query_only = ON')
        return database.exec('INSERT INTO t (id) VALUES (5)')
      },
    ],
  }

  it.each(Object.keys(faults))('by %s is read as libsql gives it', (what) => {
    const [fault, act] = faults[what]!
    const database = new Database(path)
    const error = thrownBy(() => act(database))
    database.close()
    expect([faultOf(wrapped(error as object)), faultName(error)]).toEqual([fault, expect.stringMatching(/^SQLITE_/)])
  })

  it.each<[Fault, string, number[]]>([
    ['conflict', 'BUSY, BUSY_RECOVERY, BUSY_SNAPSHOT, LOCKED, LOCKED_SHAREDCACHE, PROTOCOL', [5, 261, 517, 6, 262, 15]],
    ['busy', 'NOMEM, INTERRUPT', [7, 9]],
    ['away', 'FULL, IOERR_WRITE, IOERR_FSYNC, READONLY, READONLY_DBMOVED, CANTOPEN', [13, 778, 1034, 8, 1032, 14]],
    ['duplicate', 'CONSTRAINT_UNIQUE, CONSTRAINT_PRIMARYKEY', [2067, 1555]],
    ['broken', 'ERROR, CORRUPT, NOTADB, CONSTRAINT_CHECK, MISUSE', [1, 11, 26, 275, 21]],
  ])('is %s for %s', (fault, _names, codes) => {
    expect(codes.filter((rawCode) => faultOf({ code: 'SQLITE_ANY', rawCode }) !== fault)).toEqual([])
  })
})
