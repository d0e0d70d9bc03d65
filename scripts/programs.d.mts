import type { LaunchOptions } from 'playwright-core'

export function findChromium(): string | undefined
export function launchOptions(executablePath?: string): LaunchOptions
export function findPostfix(): string | undefined
export function findExim(): string | undefined
export function findAccountSources(): { readonly postgres: string; readonly slapd: string } | undefined
export function findInterpreters(): { python: string; php: string } | undefined
export function findCalc(): string | undefined
export function findGalera(): string | undefined
export function findGroupReplication(): { server: string; plugins: string } | undefined
