import { describe, expect, it } from '@jest/globals'
import { readSettings, SettingsError } from './settings.js'

const BASE = { QUOTA_URL: 'http://127.0.0.1:1', QUOTA_TOKEN: 'secret' }
const DATABASE = { ACCOUNTS_DATABASE_URL: 'postgresql://a/b', ACCOUNTS_QUERY: 'SELECT 1 FROM m WHERE u = :user' }
const LDAP = {
  ACCOUNTS_LDAP_URL: 'ldap://127.0.0.1',
  ACCOUNTS_LDAP_BASE: 'dc=example',
  ACCOUNTS_LDAP_FILTER: '(mail=:user)',
  ACCOUNTS_LDAP_ATTRIBUTE: 'employeeNumber',
}

function mistakes(environment: Record<string, string>): string[] {
  try {
    readSettings({ ...BASE, ...environment })
    return []
  } catch (error) {
    expect(error).toBeInstanceOf(SettingsError)
    return [...(error as Error).message.matchAll(/^ {2}- (.*)$/gm)].map(([, line]) => line ?? '')
  }
}

describe('the settings of accounts', () => {
  it('takes one source, or all', () => {
    for (const given of [{ ACCOUNTS_FILE: '/a' }, DATABASE, LDAP, { ACCOUNTS_FILE: '/a', ...DATABASE, ...LDAP }])
      expect(mistakes(given)).toEqual([])
    expect(mistakes({})).toEqual(['one of ACCOUNTS_FILE, ACCOUNTS_DATABASE_URL and ACCOUNTS_LDAP_URL is required'])
  })

  it.each<[Record<string, string>, string]>([
    [{ ...DATABASE, ACCOUNTS_QUERY: '' }, 'ACCOUNTS_QUERY, beside ACCOUNTS_DATABASE_URL, is required'],
    [{ ...LDAP, ACCOUNTS_QUERY: ':user' }, 'ACCOUNTS_QUERY has no effect without ACCOUNTS_DATABASE_URL'],
    [{ ...DATABASE, ACCOUNTS_QUERY: 'SELECT 1' }, 'ACCOUNTS_QUERY must name :user, :local or :domain'],
    [
      { ...DATABASE, ACCOUNTS_DATABASE_URL: 'oracle://a/b' },
      'ACCOUNTS_DATABASE_URL must be a URL that begins with mysql:// or mariadb:// or postgresql:// or postgres://',
    ],
    [{ ...LDAP, ACCOUNTS_LDAP_BASE: '' }, 'ACCOUNTS_LDAP_BASE, beside ACCOUNTS_LDAP_URL, is required'],
    [{ ...LDAP, ACCOUNTS_LDAP_FILTER: '' }, 'ACCOUNTS_LDAP_FILTER, beside ACCOUNTS_LDAP_URL, is required'],
    [{ ...LDAP, ACCOUNTS_LDAP_FILTER: '(mail=ann)' }, 'ACCOUNTS_LDAP_FILTER must name :user, :local or :domain'],
    [{ ...LDAP, ACCOUNTS_LDAP_ATTRIBUTE: '' }, 'ACCOUNTS_LDAP_ATTRIBUTE, beside ACCOUNTS_LDAP_URL, is required'],
    [
      { ...LDAP, ACCOUNTS_LDAP_URL: 'http://127.0.0.1' },
      'ACCOUNTS_LDAP_URL must be a URL that begins with ldap:// or ldaps://',
    ],
    [{ ...LDAP, ACCOUNTS_LDAP_BIND_DN: 'cn=a' }, 'ACCOUNTS_LDAP_PASSWORD, beside ACCOUNTS_LDAP_BIND_DN, is required'],
    [
      { ...LDAP, ACCOUNTS_LDAP_PASSWORD: 'secret' },
      'ACCOUNTS_LDAP_PASSWORD has no effect without ACCOUNTS_LDAP_BIND_DN',
    ],
    [{ ...DATABASE, ACCOUNTS_LDAP_BASE: 'dc=a' }, 'ACCOUNTS_LDAP_BASE has no effect without ACCOUNTS_LDAP_URL'],
    [
      { ...LDAP, ACCOUNTS_LDAP_URL: 'ldaps://127.0.0.1', ACCOUNTS_LDAP_STARTTLS: 'true' },
      'ACCOUNTS_LDAP_STARTTLS is for ldap:// alone',
    ],
    [
      { ...LDAP, ACCOUNTS_LDAP_CA_FILE: 'package.json' },
      'ACCOUNTS_LDAP_CA_FILE has no effect without ldaps:// or ACCOUNTS_LDAP_STARTTLS',
    ],
  ])('%j is half of them: %s', (given, mistake) => {
    expect(mistakes(given)).toEqual([mistake])
  })

  it('names what is wrong with a filter, and a file that cannot be read', () => {
    expect(mistakes({ ...LDAP, ACCOUNTS_LDAP_FILTER: '(mail=:user' })).toEqual([
      expect.stringMatching(/^ACCOUNTS_LDAP_FILTER must be a filter \(RFC 4515\): /),
    ])
    expect(mistakes({ ...LDAP, ACCOUNTS_LDAP_STARTTLS: 'true', ACCOUNTS_LDAP_CA_FILE: '/nowhere' })).toEqual([
      expect.stringMatching(/^ACCOUNTS_LDAP_CA_FILE ENOENT/),
    ])
  })
})
