class UsersController < ApplicationController
  def index
    render json: User.select(:id, :username, :name, :sex, :address, :mail, :birthdate).order(:id)
  end
end
