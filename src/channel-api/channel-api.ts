import type { ChannelApiOptions } from './channel-api-options.js'
import { groupDtos } from './group.dto.js'
import { reportDtos } from './report.dto.js'
import { quotaDtos } from './quota.dto.js'
import { usageDtos } from './usage.dto.js'

/** The options of a channel's API, and the DTO classes built from them. */
export type ChannelApi = ReturnType<typeof channelApi>

/** Builds a channel's DTO classes. Call it once per channel: every call creates new classes. */
export function channelApi(options: ChannelApiOptions) {
  const quota = quotaDtos(options)
  return {
    ...options,
    dto: { ...quota, ...usageDtos(options), ...reportDtos(options, quota.Quota), ...groupDtos(options) },
  }
}
