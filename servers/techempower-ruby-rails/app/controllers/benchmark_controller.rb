# TechEmpower's six tests.
class BenchmarkController < ApplicationController
  MOST_QUERIES = 500

  def plaintext
    render plain: "Hello, World!"
  end

  def message
    render json: { message: "Hello, World!" }
  end

  def single
    render json: World.find(World.random_id)
  end

  def several
    render json: World.random_ids(count).map { |id| World.find(id) }
  end

  def updates
    worlds = World.transaction do
      World.random_ids(count).map { |id| World.find(id).tap { |world| world.update!(randomnumber: World.random_id) } }
    end
    render json: worlds
  end

  def fortunes
    added = Fortune.new(id: 0, message: "Additional fortune added at request time.")
    @fortunes = [*Fortune.all, added].sort_by(&:message)
  end

  private

  # How many were asked for, within 1 and 500; what is no number is 1.
  def count
    params[:queries].to_i.clamp(1, MOST_QUERIES)
  end
end
