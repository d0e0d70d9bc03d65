import fc from '../../node_modules/fast-check/lib/fast-check.js'

/** Replaces `fast-check` if PROPERTY_SEED is set: properties try the same cases in every run. */
fc.configureGlobal({ seed: Number(process.env['PROPERTY_SEED']) })

export default fc
