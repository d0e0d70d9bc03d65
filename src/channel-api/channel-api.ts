import type { ChannelWords } from './channel-words.js'
import { officeDtos } from './office.dto.js'
import { quotaDtos } from './quota.dto.js'
import { usageDtos } from './usage.dto.js'

/** A channel's words, and the DTO classes built from them. */
export type ChannelApi = ReturnType<typeof channelApi>

/** Builds a channel's DTO classes. Call it once per channel: every call creates new classes. */
export function channelApi(words: ChannelWords) {
  const quota = quotaDtos(words)
  return { ...words, dto: { ...quota, ...usageDtos(words), ...officeDtos(words, quota.Quota) } }
}
