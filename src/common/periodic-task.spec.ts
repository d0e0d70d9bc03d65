import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals'
import { Logger } from '@nestjs/common'
import { PeriodicTask, type TaskStore } from './periodic-task.js'

describe('a periodic task', () => {
  const said: string[] = []
  let reach: TaskStore['reach']
  let runs: number
  let run: () => Promise<number | undefined>
  const store = (): TaskStore => ({
    tasks: new Set(),
    get reach() {
      return reach
    },
  })
  const task = (needs: 'reads' | 'writes' = 'writes'): PeriodicTask => {
    const work = async () => {
      runs += 1
      return run()
    }
    return new PeriodicTask(store(), 'trial', 1_000, work, needs)
  }

  beforeEach(() => {
    jest.useFakeTimers()
    said.length = 0
    runs = 0
    reach = 'all'
    run = async () => Promise.resolve(undefined)
    Logger.overrideLogger({
      log: (line: string) => said.push(`log ${line}`),
      warn: (line: string) => said.push(`warn ${line}`),
      error: () => undefined,
    })
  })

  afterEach(() => {
    jest.useRealTimers()
    Logger.overrideLogger(false)
  })

  it('says a failure once, another reason at once, and its end', async () => {
    const repeated = task()
    repeated.start()
    run = async () => Promise.reject(new Error('one'))
    await jest.advanceTimersByTimeAsync(5_000)
    run = async () => Promise.reject(new Error('two'))
    await jest.advanceTimersByTimeAsync(2_000)
    expect([runs, repeated.failures]).toEqual([7, 7])
    run = async () => Promise.resolve(undefined)
    await jest.advanceTimersByTimeAsync(3_000)
    expect(repeated.failures).toBe(0)
    expect(said).toEqual([
      'warn failed, retrying: Error: one',
      'warn failed, 6 times in a row, retrying: Error: two',
      'log works again after 7 failures in a row',
    ])
    await repeated.stop()
  })

  it('says every hour that it still fails', async () => {
    const repeated = task()
    repeated.start()
    run = async () => Promise.reject(new Error('one'))
    await jest.advanceTimersByTimeAsync(3_601_000 + 1_000)
    expect(said).toHaveLength(2)
    expect(said[1]).toMatch(/^warn failed, 360\d times in a row/)
    await repeated.stop()
  })

  it('pauses after each run for as long as the run asks', async () => {
    const repeated = task()
    run = async () => Promise.resolve(4_000)
    repeated.start()
    await jest.advanceTimersByTimeAsync(4_999)
    expect(runs).toBe(1)
    await jest.advanceTimersByTimeAsync(1)
    expect(runs).toBe(2)
    await repeated.stop()
  })

  it('rests while the store is away, and what only reads, while nothing can be read', async () => {
    const [writing, reading] = [task(), task('reads')]
    writing.start()
    reading.start()
    reach = 'none'
    await jest.advanceTimersByTimeAsync(1_000)
    expect(runs).toBe(0)
    reach = 'reads'
    await jest.advanceTimersByTimeAsync(1_000)
    expect(runs).toBe(1)
    reach = 'all'
    await jest.advanceTimersByTimeAsync(1_000)
    expect(runs).toBe(3)
    await Promise.all([writing.stop(), reading.stop()])
  })

  it('says nothing of a run that an outage ended', async () => {
    const repeated = task()
    repeated.start()
    run = async () => {
      reach = 'reads'
      return Promise.reject(new Error('away'))
    }
    await jest.advanceTimersByTimeAsync(2_000)
    expect([runs, repeated.failures, said]).toEqual([1, 0, []])
    await repeated.stop()
  })

  it('runs soon once for several calls, after the present run', async () => {
    const repeated = task()
    let finish = (_: undefined): void => undefined
    run = async () =>
      new Promise((resolve) => {
        finish = resolve
      })
    void repeated.run()
    repeated.soon(100)
    repeated.soon(100)
    await jest.advanceTimersByTimeAsync(500)
    expect(runs).toBe(1)
    finish(undefined)
    await jest.advanceTimersByTimeAsync(0)
    expect(runs).toBe(2)
    finish(undefined)
    await jest.advanceTimersByTimeAsync(900)
    expect(runs).toBe(2)
    await repeated.stop()
  })

  it('runs again once for several calls, after the present run', async () => {
    const repeated = task()
    const finish: (() => void)[] = []
    run = async () =>
      new Promise((resolve) => {
        finish.push(() => {
          resolve(undefined)
        })
      })
    const ended: string[] = []
    const asked = (name: string) => void repeated.again().then(() => ended.push(name))
    asked('first')
    expect(runs).toBe(1)
    asked('second')
    asked('third')
    for (const [n, names] of [['first'], ['first', 'second', 'third']].entries()) {
      await jest.advanceTimersByTimeAsync(500)
      expect(runs).toBe(n + 1)
      finish[n]?.()
      await jest.advanceTimersByTimeAsync(0)
      expect(ended).toEqual(names)
    }
    await jest.advanceTimersByTimeAsync(500)
    expect(runs).toBe(2)
    await repeated.stop()
  })

  it('runs again whenever it is asked, also in the last steps of a run', async () => {
    for (let step = 0; step < 12; step += 1) {
      const repeated = task()
      runs = 0
      let asked: Promise<unknown> | undefined
      run = async () => {
        if (runs > 1) return Promise.resolve(undefined)
        let later = Promise.resolve()
        for (let n = 0; n < step; n += 1) later = later.then(() => undefined)
        asked = later.then(async () => repeated.again())
        return Promise.resolve(undefined)
      }
      await repeated.run()
      await asked
      expect([step, runs]).toEqual([step, 2])
      await repeated.stop()
    }
  })

  it('runs if it is asked while the store is away, and returns the error', async () => {
    const repeated = task()
    reach = 'none'
    const refused = new Error('away')
    run = async () => Promise.reject(refused)
    expect([await repeated.again(), await repeated.run()]).toEqual([refused, refused])
    expect([runs, repeated.failures, said]).toEqual([2, 0, []])
    run = async () => Promise.resolve(undefined)
    expect(await repeated.again()).toBeUndefined()
    await repeated.stop()
  })

  it('ends after a run that was asked for during the present one', async () => {
    const repeated = task()
    run = async () =>
      new Promise((resolve) => {
        setTimeout(() => {
          resolve(undefined)
        }, 300)
      })
    void repeated.run()
    let ended = false
    const stopping = repeated.stop().then(() => {
      ended = true
    })
    void repeated.again()
    await jest.advanceTimersByTimeAsync(500)
    expect([runs, ended]).toEqual([2, false])
    await jest.advanceTimersByTimeAsync(100)
    expect(ended).toBe(true)
    await stopping
    await jest.advanceTimersByTimeAsync(5_000)
    expect(runs).toBe(2)
  })

  it('ends after the present run', async () => {
    const repeated = task()
    let finish = (_: undefined): void => undefined
    run = async () =>
      new Promise((resolve) => {
        finish = resolve
      })
    repeated.start()
    await jest.advanceTimersByTimeAsync(1_000)
    let ended = false
    const stopping = repeated.stop().then(() => {
      ended = true
    })
    await jest.advanceTimersByTimeAsync(5_000)
    expect(ended).toBe(false)
    finish(undefined)
    await stopping
    await jest.advanceTimersByTimeAsync(5_000)
    expect(runs).toBe(1)
  })
})
